package event

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/rawjson"
)

// A message is never changed once made; the test does so to see whether the writer
// looks at it a second time.
func TestWriterEncodesAMessageOnce(t *testing.T) {
	m := &Message{ID: "m", Type: UserMessage, Contents: []Part{{ID: "p", Type: TextPart, Text: "first"}}}
	var out bytes.Buffer
	w := NewWriter(&out)
	write := func(e Event) string {
		t.Helper()
		out.Reset()
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if line := write(Event{Body: StartGeneration{Messages: []*Message{m, m}}}); strings.Count(line, "first") != 2 {
		t.Fatal(line)
	}
	m.Contents[0].Text = "second"
	for _, body := range []Body{
		StartGeneration{Messages: []*Message{m}},
		CallTools{NewMessage: m},
		CompleteRun{End: End{Checkpoint: &Checkpoint{Messages: []*Message{m}}}},
	} {
		if line := write(Event{Body: body}); !strings.Contains(line, "first") || strings.Contains(line, "second") {
			t.Errorf("%T encoded the message again: %s", body, line)
		}
	}
}

func TestWriterWritesWhatMarshalDoes(t *testing.T) {
	for name := range kindsByName {
		e, err := Unmarshal(readFile(t, "testdata/events/"+string(name)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := NewWriter(&out).Write(e); err != nil {
			t.Fatal(err)
		}
		if out.String() != string(want)+"\n" {
			t.Errorf("got  %s\nwant %s", out.String(), want)
		}
	}
}

// Long texts are written as short ones are, whether they are kept encoded or not: in all
// places, with all characters, wherever they are cut.
func TestWriterWritesLongTexts(t *testing.T) {
	for _, piece := range []string{"a", "é", "日", "🔑", "\"\\\n", "\xff", "\xe6\x97", "\u202e\x7f", "<&>\u2028"} {
		sizes := []int{longText - 1, longText, chunk + 1}
		if piece == "a" && !testing.Short() {
			sizes = append(sizes, maxKept/4) // the last message is more than is kept
		}
		for _, size := range sizes {
			text := strings.Repeat(piece, size/len(piece)+1)[:size]
			e := Event{Body: StartGeneration{Messages: []*Message{
				{ID: "a", Type: UserMessage, Contents: []Part{{Type: TextPart, Text: text}, {Type: TextPart, Text: "short"}, {Type: ImageInlinePart, EncodedData: text}}},
				{ID: "b", Type: ToolMessage, Contents: []Part{{Type: ToolResultPart, Contents: []Part{{Type: TextPart, Text: text}}}}},
				{ID: text, Type: ExpertMessage, Contents: []Part{{Type: ThinkingPart, Thinking: text, Signature: text}}},
			}}}
			want, err := Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			want = append(escapeInvisible(want), '\n')
			var out bytes.Buffer
			w := NewWriter(&out)
			for range 2 {
				out.Reset()
				if err := w.Write(e); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(out.Bytes(), want) {
					t.Fatalf("%d bytes of %q become %d bytes, want %d", size, piece, out.Len(), len(want))
				}
			}
			if w.kept > maxKept {
				t.Errorf("%d bytes are kept", w.kept)
			}
		}
	}
}

func TestWriterEscapesInvisibleCharacters(t *testing.T) {
	hidden := []string{
		"\x1b", "\x00", "\r", "\n", // below space: JSON escapes them itself
		"\x7f", "\u0080", "\u009b", "\u009f", // DEL and C1; U+009B is a one-character CSI
		"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", // bidi
		"\u2028", "\u2029", "\ufeff",
	}
	for _, s := range hidden {
		e := Event{Body: StreamReasoning{Delta: "a" + s + "b"}}
		var out bytes.Buffer
		if err := NewWriter(&out).Write(e); err != nil {
			t.Fatal(err)
		}
		line := strings.TrimSuffix(out.String(), "\n")
		if strings.Contains(line, s) {
			t.Errorf("%+q went out as it is: %q", s, line)
		}
		again, err := Unmarshal([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Body.(StreamReasoning).Delta; got != "a"+s+"b" {
			t.Errorf("%+q came back as %+q", s, got)
		}
	}
	// What people write stays readable.
	var out bytes.Buffer
	text := "Grüße, 世界 👋🏽 עברית"
	if err := NewWriter(&out).Write(Event{Body: StreamReasoning{Delta: text}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), text) {
		t.Errorf("%s", out.String())
	}
}

// Names of members and cached messages are text as well.
func TestWriterEscapesEverywhere(t *testing.T) {
	e := Event{Body: StartGeneration{
		Messages: []*Message{{ID: "m", Type: UserMessage, Contents: []Part{{Type: ToolCallPart, Args: []byte("{\"\u202e\":\"\u009b\"}")}}}},
		Extra:    Extra{map[string]rawjson.Value{"x\u2028": []byte("1")}},
	}}
	var out bytes.Buffer
	if err := NewWriter(&out).Write(e); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(strings.TrimSuffix(out.String(), "\n"), isInvisible); i >= 0 {
		t.Errorf("at %d of %+q", i, out.String())
	}
}

type countingWriter struct {
	writes [][]byte
	err    error
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.writes = append(w.writes, bytes.Clone(p))
	return len(p), w.err
}

func TestWriterWritesOneLineAtATime(t *testing.T) {
	var out countingWriter
	w := NewWriter(&out)
	for range 3 {
		if err := w.Write(Event{Body: StreamReasoning{Delta: "a\nb\r\n\u2028c"}}); err != nil {
			t.Fatal(err)
		}
	}
	line := []byte(`{"type":"skillStderr","message":"x"}`)
	if err := w.WriteLine(line); err != nil {
		t.Fatal(err)
	}
	if len(out.writes) != 4 {
		t.Fatalf("%d writes for 4 events", len(out.writes))
	}
	for _, p := range out.writes {
		if bytes.Count(p, []byte("\n")) != 1 || p[len(p)-1] != '\n' {
			t.Errorf("not one line: %q", p)
		}
	}
	if string(line) != `{"type":"skillStderr","message":"x"}` {
		t.Error("WriteLine changed the caller's bytes")
	}
}

func TestWriterReportsErrors(t *testing.T) {
	broken := errors.New("pipe is closed")
	w := NewWriter(&countingWriter{err: broken})
	if err := w.Write(Event{Body: StreamReasoning{}}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	var out countingWriter
	if err := NewWriter(&out).Write(Event{}); err == nil || len(out.writes) > 0 {
		t.Errorf("an event without a body: error %v, written %q", err, out.writes)
	}
}
