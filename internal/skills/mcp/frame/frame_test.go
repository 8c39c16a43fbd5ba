package frame_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

func reader(text string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(text), 64) }

func TestRead(t *testing.T) {
	in := reader("\n  \r\n{\"a\":1}\r\n\n{\"b\":2}")
	for _, want := range []string{`{"a":1}`, `{"b":2}`} {
		if got, err := frame.Read(in); string(got) != want || err != nil {
			t.Errorf("read %q, %v; want %q", got, err, want)
		}
	}
	if _, err := frame.Read(in); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// M10: a line that is too long is skipped, and one that does not end is the end. Whose
// answer it was is told from either end of it.
func TestTooLong(t *testing.T) {
	long := strings.Repeat("x", frame.MaxBytes)
	for _, tt := range []struct{ line, guess string }{
		{`{"jsonrpc":"2.0","id":7,"result":"` + long + `"}`, "7"},
		{`{"result":"` + long + `","jsonrpc":"2.0","id":"é"}`, `"é"`},
		{`{"result":"` + long + `","jsonrpc":"2.0","id":[1]}`, ""},
		{`{"id":{},"result":"` + long + `"}`, ""},
		{long, ""},
	} {
		in := reader(tt.line + "\n{}\n")
		_, err := frame.Read(in)
		bad, ok := errors.AsType[*frame.Error](err)
		if !ok || !strings.Contains(bad.Message, "longer than 16777216 bytes") || string(bad.Guess) != tt.guess || bad.ID != nil {
			t.Errorf("%.40q: %+v, want a guess of %q", tt.line, err, tt.guess)
		}
		if got, err := frame.Read(in); string(got) != "{}" || err != nil {
			t.Errorf("behind it: %q, %v", got, err)
		}
	}
	endless := &counted{}
	if _, err := frame.Read(bufio.NewReaderSize(endless, 64<<10)); !errors.Is(err, frame.ErrEndless) {
		t.Errorf("an endless line: %v", err)
	}
	if endless.bytes > 17*frame.MaxBytes {
		t.Errorf("%d bytes of an endless line were read", endless.bytes)
	}
}

// counted is a stream without an end, and counts how much of it was taken.
type counted struct{ bytes int }

func (c *counted) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	c.bytes += len(p)
	return len(p), nil
}

func TestGuess(t *testing.T) {
	for _, tt := range []struct{ frame, guess string }{
		{`{"jsonrpc":"2.0","id":3,"result":{},"result":{}}`, "3"},
		{"{\"id\":4,\"result\":\"\xff\"}", "4"},
		{`{"result":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"id":5}`, "5"},
		{`{"id":6`, "6"},
		{`INFO listening`, ""},
		{``, ""},
		{`"id":7}`, "7"},
		{`{"a":{"id":8}`, "8"}, // wrong, and no harm
	} {
		_, err := frame.Parse([]byte(tt.frame))
		if bad, ok := errors.AsType[*frame.Error](err); !ok || string(bad.Guess) != tt.guess {
			t.Errorf("%.40q: %v, guess %q; want %q", tt.frame, err, bad.Guess, tt.guess)
		}
	}
}

func TestFixUTF8(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a":1.0}`, `{"a":1.0}`},
		{"{\"a\":\"\xff\"}", `{"a":"` + "\ufffd" + `"}`},
		{`{"a": "cut \ud83d"}`, `{"a":"cut ` + "\ufffd" + `"}`},
		{`{"a":1,"a":"` + "\xff" + `"}`, `{"a":1,"a":"` + "\ufffd" + `"}`}, // still to be refused
		{`{"a":`, `{"a":`},
	} {
		if got := frame.FixUTF8([]byte(tt.in)); string(got) != tt.want {
			t.Errorf("%q is fixed to %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestSplit(t *testing.T) {
	if list, ok := frame.Split([]byte(`[{"id":1},{"id":2}]`)); !ok || len(list) != 2 || string(list[1]) != `{"id":2}` {
		t.Errorf("%q, %t", list, ok)
	}
	many := "[" + strings.Repeat("0,", 1<<20) + "0]"
	if list, more, err := frame.List([]byte(many), 3); len(list) != 3 || !more || err != nil {
		t.Errorf("%q, %t, %v", list, more, err)
	}
	if list, more, err := frame.List([]byte(`[1, 2,3 ]`), 3); len(list) != 3 || more || err != nil || string(list[1]) != "2" {
		t.Errorf("%q, %t, %v", list, more, err)
	}
	for _, text := range []string{`{}`, `null`, `[`, ``, `[{"a":1,"a":2}]`, many} {
		if list, ok := frame.Split([]byte(text)); ok {
			t.Errorf("%.40q was taken apart: %.40q", text, list)
		}
	}
}

// Whatever comes over the stream is read to its end, as messages that can be written
// again or as faults.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "\n\r\n", "{}", "null\n[]\n", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"é","result":{}}` + "\n{",
		`{"jsonrpc":"2.0","id":1e400,"method":"x"}`, `{"jsonrpc":"2.0","id":[[[[1]]]],"error":5}`, "\xff\xfe", `{"a":1,"a":2,"id":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(stream), 16)
		for {
			data, err := frame.Read(in)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			message, err := frame.Parse(frame.FixUTF8(data))
			if bad, ok := errors.AsType[*frame.Error](err); ok {
				for _, id := range []rawjson.Value{bad.ID, bad.Guess} {
					if id != nil && !id.IsValid() {
						t.Fatalf("%q has the id %q", data, id)
					}
				}
				continue
			}
			if err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			if again, err := jsonrpc.EncodeMessage(message); err != nil || !rawjson.Value(again).IsValid() {
				t.Fatalf("%q is written as %q: %v", data, again, err)
			}
		}
	})
}
