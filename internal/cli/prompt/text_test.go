package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/rawjson"
)

// enterText types a text, and returns what was read. Numbers are milliseconds.
func enterText(t *testing.T, s *fakeTerminal, q Text, keys ...any) (text string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		s.typed = make(chan string)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			text, err = q.read(ctx, s)
		}()
		for _, key := range keys {
			synctest.Wait()
			switch key := key.(type) {
			case int:
				time.Sleep(time.Duration(key) * time.Millisecond)
			case string:
				select {
				case s.typed <- key:
				case <-ended:
					t.Errorf("%q was not read", key)
				}
			case func():
				key()
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		cancel(errStillOpen)
		<-ended
		if s.isRaw != 0 {
			t.Error("the terminal is left in another mode")
		}
		if on, off := strings.Count(s.out.String(), pasteOn), strings.Count(s.out.String(), pasteOff); on != off {
			t.Errorf("pastes were marked %d times, and left %d times", on, off)
		}
	})
	return text, err
}

var errStillOpen = errors.New("it is not sent")

func TestText(t *testing.T) {
	history := []string{"first", "second\nline"}
	for _, tt := range []struct {
		name string
		keys []any
		want string
		err  error
	}{
		{"a line", []any{"a", "b", "\r"}, "ab", nil},
		{"at once", []any{"fix it\r"}, "fix it", nil},
		{"Enter alone", []any{"\r", " ", "\r"}, "", errStillOpen},
		{"not sent", []any{"ab"}, "", errStillOpen},
		{"Alt-Enter and Ctrl-J", []any{"a", "\x1b\r", "b", "\n", "c", "\r"}, "a\nb\nc", nil},
		{"a backslash", []any{`a\`, "\r", "b", "\r"}, "a\nb", nil},
		{"a backslash in the middle", []any{`a\b`, "\r"}, `a\b`, nil},
		{"editing", []any{"word", "\x1b[D", "\x7f", "x", "\x01", "<", "\x05", ">", "\r"}, "<woxd>", nil},
		{"a word", []any{"one two", "\x17", "\r"}, "one ", nil},
		{"paste", []any{"\x1b[200~a\rb\x03\x1b[201~", "\r"}, "a\nb", nil},
		{"history", []any{"\x1b[A", "\x1b[A", "\x1b[A", "\r"}, "first", nil},
		{"history and back", []any{"new", "\x1b[A", "\x1b[B", "\x1b[B", "\r"}, "new", nil},
		{"search", []any{"\x12", "fir", "\r", "\r"}, "first", nil},
		{"search that is cancelled", []any{"x", "\x12", "fir", "\x03", "\r"}, "x", nil},
		{"search that is left with Escape", []any{"x", "\x12", "fir", "\x1b", 200, "\r"}, "x", nil},
		{"Ctrl-C", []any{"\x03"}, "", ErrLeft},
		{"Ctrl-C after a text", []any{"abc", "\x03"}, "", ErrLeft},
		{"Ctrl-D", []any{"\x04"}, "", ErrLeft},
		{"Ctrl-D in a text deletes", []any{"abc", "\x01", "\x04", "\r"}, "bc", nil},
		{"what a terminal obeys", []any{"\x1b[200~a\x1b[2J\x1b]0;title\x07\u202eb\x1b[201~", "\r"}, "ab", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTerminal()
			got, err := enterText(t, s, Text{Title: "What?", History: history}, tt.keys...)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v, want %q, %v; on the screen:\n%q", got, err, tt.want, tt.err, s.out.String())
			}
		})
	}
}

// Where the cursor cannot be moved, the terminal edits.
func TestPlainText(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []any
		want string
		err  error
	}{
		{"a line", []any{"fix it\n"}, "fix it", nil},
		{"in parts", []any{"fix", " it\n"}, "fix it", nil},
		{"lines", []any{"one\\\n", "two\n"}, "one\ntwo", nil},
		{"empty lines", []any{"\n", "\n", "x\n"}, "\n\nx", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTerminal()
			got, err := enterText(t, s, Text{Title: "What?", Plain: true}, tt.keys...)
			if strings.TrimSpace(got) != strings.TrimSpace(tt.want) || !errors.Is(err, tt.err) || strings.Contains(s.out.String(), "\x1b") {
				t.Errorf("%q, %v, want %q, %v; on the screen:\n%q", got, err, tt.want, tt.err, s.out.String())
			}
		})
	}
}

// What is too large is refused with its size, and the text stays.
func TestTextTooLarge(t *testing.T) {
	s := newTerminal()
	got, err := enterText(t, s, Text{}, "keep", "\x1b[200~"+strings.Repeat("x", edit.Limit+1)+"\x1b[201~", "\r")
	if got != "keep" || err != nil || !strings.Contains(s.out.String(), "can have 1 MiB") {
		t.Errorf("%q, %v: %q", got, err, s.out.String())
	}
}

// A question of an Expert is answered with a text. What was typed before it appeared is no answer.
func TestExpertAsks(t *testing.T) {
	call := event.ToolCall{ID: "c1", ToolName: "askUser", Args: rawjson.Value(`{"question":"Bud\u001b[2Jget?\nIn EUR"}`)}
	for _, tt := range []struct {
		name string
		keys []any
		want string
		err  error
	}{
		{"an answer", []any{300, "500", "\r"}, "500", nil},
		{"typed ahead", []any{"yes\r", 299, "no\r", 300, "500", "\r"}, "500", nil},
		{"left", []any{300, "50", "\x03"}, "", engine.ErrNoAnswer},
		{"left before it appeared", []any{"\x03"}, "", engine.ErrNoAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTerminal()
			var got event.Answer
			var err error
			synctest.Test(t, func(t *testing.T) {
				s.typed = make(chan string)
				a := newApprover(s, Options{Redact: func(text string) string { return strings.ReplaceAll(text, "EUR", "[redacted: E]") }})
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					got, err = a.Ask(t.Context(), event.Request{ExpertKey: "guide", Question: call})
				}()
				for _, key := range tt.keys {
					synctest.Wait()
					if wait, ok := key.(int); ok {
						time.Sleep(time.Duration(wait) * time.Millisecond)
					} else {
						s.typed <- key.(string)
					}
				}
				<-ended
			})
			if got.Text != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%+v, %v", got, err)
			}
			if tt.name == "an answer" && !strings.Contains(s.out.String(), "guide asks (askUser)\r\n  | Bud<U+001B>[2Jget?\r\n  | In [redacted: E]\r\n") {
				t.Errorf("%q", s.out.String())
			}
			if (tt.err != nil) != strings.HasSuffix(s.out.String(), "no answer; the job waits\r\n") {
				t.Errorf("%q", s.out.String())
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{"question":"Budget?"}`:                          "Budget?",
		`{"question":"Where?","options":["sea","hills"]}`: "question: Where?|options:\n- sea\n- hills",
		`{"n":1,"list":[1,"a"],"o":{"a":"b"},"empty":[]}`: `n: 1|list: [1,"a"]|o: {"a":"b"}|empty: []`,
		`{}`:                "",
		`["a"]`:             `["a"]`,
		`{"a":`:             `{"a":`,
		"":                  "",
		`{"a":"1","a":"2"}`: "a: 1|a: 2",
	} {
		if got := strings.Join(arguments(rawjson.Value(args)), "|"); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
