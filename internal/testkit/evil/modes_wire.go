package evil

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func decimal(n int) string { return strconv.Itoa(n) }

// wireModes are about bytes: frames that are too big, too deep, or none.
func wireModes() []Mode {
	return []Mode{
		{"huge-line", "a result has --mib (100) MiB in one line", func(s *server) {
			s.on["tools/call"] = func(r request) error {
				return s.w.send(answer(r.ID, text("%s", strings.Repeat("x", s.size(100)))))
			}
		}},
		{"deep-json", "a result is nested n (100,000) deep", func(s *server) {
			// By hand: an encoder would refuse to write it.
			s.on["tools/call"] = func(r request) error {
				return s.w.line(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"deep"}],"structuredContent":{"a":%s}}}`,
					r.ID, nested(s.n(100_000))))
			}
		}},
		{"endless-line", "a result begins and never ends, until --mib (512) MiB; there is no line end", func(s *server) {
			s.on["tools/call"] = func(r request) error {
				if err := s.w.raw(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID)); err != nil {
					return err
				}
				return s.pour(s.w.raw, "x", s.size(512))
			}
		}},
		{"garbage", "log lines, blank lines and broken JSON stand between the frames", func(s *server) {
			s.w.out = &around{out: s.w.out, before: "INFO listening\n\n{\"jsonrpc\":\n[]\nnull\n"}
		}},
		{"invalid-utf8", "a result has bytes that are no UTF-8, and lone surrogates", func(s *server) {
			s.on["tools/call"] = func(r request) error {
				return s.w.line(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s \ud800 %s"}]}}`, r.ID, "\xff\xfe", "\xc3("))
			}
		}},
		{"duplicate-members", "a frame says result twice, and ID in another letter case", func(s *server) {
			s.on["tools/call"] = func(r request) error {
				return s.w.line(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"ID":0,"result":{"content":[]},"result":{"content":[{"type":"text","text":"the second"}]}}`, r.ID))
			}
		}},
		{"crlf", "lines end in CR and LF", func(s *server) { s.w.end = "\r\n" }},
		{"batch", "an answer comes in a list, as in old versions of the protocol", func(s *server) {
			s.on["tools/call"] = func(r request) error { return s.w.send([]object{answer(r.ID, text("in a list"))}) }
		}},
		{"slow", "every byte is sent alone, after a pause", func(s *server) {
			s.w.out = &drip{server: s, out: s.w.out, pause: s.o.Pause}
		}},
		{"stderr-flood", "--mib (10) MiB go to standard error, with escape sequences and what looks like a key", func(s *server) {
			s.greet = func() error {
				return s.pour(func(b []byte) error { _, err := s.o.Log.Write(b); return err },
					Escapes+" api_key="+s.o.Marker+"\n", s.size(10))
			}
		}},
		{"wrong-version", "speaks a version of the protocol that does not exist", func(s *server) {
			s.on["initialize"] = func(r request) error { return s.w.send(answer(r.ID, hello("1999-12-31"))) }
		}},
		{"wrong-types", "the answer to initialize is a list, and results are numbers", func(s *server) {
			s.on["initialize"] = func(r request) error { return s.w.send(answer(r.ID, []int{1})) }
			s.on["tools/list"] = func(r request) error { return s.w.send(answer(r.ID, 7)) }
			s.on["tools/call"] = func(r request) error { return s.w.send(answer(r.ID, "a text")) }
		}},
		{"huge-error", "an error has a message of --mib (10) MiB, with escape sequences", func(s *server) {
			s.on["tools/call"] = func(r request) error {
				message := strings.ToValidUTF8(Escapes, "\u009b") + strings.Repeat("x", s.size(10))
				data, err := json.Marshal(failure(r.ID, -32000, message), jsontext.AllowInvalidUTF8(true))
				if err != nil {
					return err
				}
				return s.w.line(data)
			}
		}},
	}
}

// pour writes a text again and again, about size bytes of it.
func (s *server) pour(write func([]byte) error, what string, size int) error {
	chunk := bytes.Repeat([]byte(what), max(1, (64<<10)/len(what)))
	for sent := 0; sent < size; sent += len(chunk) {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := write(chunk[:min(len(chunk), size-sent)]); err != nil {
			return err
		}
	}
	return nil
}

// around writes something before each frame.
type around struct {
	out    io.Writer
	before string
}

func (a *around) Write(data []byte) (int, error) {
	if _, err := io.WriteString(a.out, a.before); err != nil {
		return 0, err
	}
	return a.out.Write(data)
}

// drip writes byte by byte.
type drip struct {
	server *server
	out    io.Writer
	pause  time.Duration
}

func (d *drip) Write(data []byte) (int, error) {
	pause := d.pause
	if pause <= 0 {
		pause = time.Millisecond
	}
	for i := range data {
		if _, err := d.out.Write(data[i : i+1]); err != nil {
			return i, err
		}
		select {
		case <-d.server.ctx.Done():
			return i, d.server.ctx.Err()
		case <-time.After(pause):
		}
	}
	return len(data), nil
}
