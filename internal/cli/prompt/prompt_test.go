package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/testkit"
)

// fakeTerminal is a terminal in a test.
type fakeTerminal struct {
	out           strings.Builder
	typed         chan string
	columns, rows int
	isRaw         int
	denied        error // of raw
	broken        bool  // writing fails
}

func newTerminal() *fakeTerminal { return &fakeTerminal{columns: 80, rows: 24} }

func (s *fakeTerminal) Write(data []byte) (int, error) {
	if s.broken {
		return 0, errors.New("no terminal")
	}
	return s.out.Write(data)
}

func (s *fakeTerminal) size() (columns, rows int) { return s.columns, s.rows }

func (s *fakeTerminal) raw() (undo func(), err error) {
	if s.denied != nil {
		return nil, s.denied
	}
	s.isRaw++
	return func() { s.isRaw-- }, nil
}

func (s *fakeTerminal) read(ctx context.Context, timeout time.Duration) ([]byte, error) {
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	select {
	case text, ok := <-s.typed:
		if !ok {
			return nil, io.EOF
		}
		return []byte(text), nil
	case <-late:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func push() *event.Approval {
	return &event.Approval{
		Experts: []string{"coder"},
		ApprovalRequested: event.ApprovalRequested{
			Effect: event.Effect{Kind: event.CommandEffect, Program: "/usr/bin/git", Argv: []string{"git", "push"}, Dir: "/shop"},
			Rule:   "rule 1 of the project",
		},
	}
}

// long is a request that needs several pages.
func long() *event.Approval {
	a := push()
	a.Said = strings.Repeat("word\n", 60)
	return a
}

// outcome is how a question ended.
type outcome struct {
	event.Answer
	err  error
	open bool // it has not ended
}

var none = outcome{err: engine.ErrNoAnswer}

// rapid is typed at once, and not like keys that a person presses one after the other.
type rapid string

// ask asks in a bubble with a clock of its own. Numbers are milliseconds between keys. Without one, a
// person needs some time for the next key.
func ask(t *testing.T, s *fakeTerminal, a *event.Approval, opts Options, keys ...any) (got outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		s.typed = make(chan string)
		ended := make(chan outcome, 1)
		go func() {
			answer, err := newApprover(s, opts).Ask(ctx, event.Request{Approval: a})
			ended <- outcome{Answer: answer, err: err}
		}()
		press := func(key string) {
			select {
			case s.typed <- key:
			case <-time.After(time.Minute):
			}
		}
		for i, key := range keys {
			synctest.Wait()
			switch key := key.(type) {
			case int:
				time.Sleep(time.Duration(key) * time.Millisecond)
			case string:
				if i > 0 {
					if _, ok := keys[i-1].(int); !ok {
						time.Sleep(60 * time.Millisecond)
					}
				}
				press(key)
			case rapid:
				press(string(key))
			case func():
				time.Sleep(pause) // the key before has done what it does
				synctest.Wait()
				key()
			}
		}
		synctest.Wait()
		time.Sleep(pause)
		synctest.Wait()
		select {
		case got = <-ended:
		default:
			cancel(ErrLeft)
			got = outcome{open: true}
			<-ended
		}
		if s.isRaw != 0 {
			t.Error("the terminal is left in another mode")
		}
	})
	return got
}

func TestKeys(t *testing.T) {
	allow := func(scope string) outcome { return outcome{Answer: event.Answer{Allow: true, Scope: scope}} }
	deny := func(reason string) outcome { return outcome{Answer: event.Answer{Reason: reason}} }
	waits := outcome{open: true}
	tests := []struct {
		name string
		keys []any
		want outcome
	}{
		{"allow once", []any{300, "y", "\r"}, allow(event.ScopeOnce)},
		{"for the job", []any{300, "a", "\r"}, allow(event.ScopeJob)},
		{"for the project", []any{300, "p", "\n"}, allow(event.ScopeProject)},
		{"always is not offered", []any{300, "w", "\r", "Y", "\r"}, waits},
		{"deny", []any{300, "n", "\r", "\r"}, deny("")},
		{"deny with a reason", []any{300, "n", "\r", "u", "se st", "x\x7f", "aging ü", " \r"}, deny("use staging ü")},
		{"special keys in a reason", []any{300, "n", "\r", "a\x1b[Db\t\x00", "\r"}, deny("ab")},
		{"back from a reason", []any{300, "n", "\r", "x\x1b", 200, "y", "\r"}, allow(event.ScopeOnce)},
		{"back, then no reason", []any{300, "n", "\r", "x\x1b", 200, "n", "\r", "\r"}, deny("")},
		{"leave within a reason", []any{300, "n", "\r", "x\x03"}, none},
		{"later", []any{300, "q", "\r"}, none},
		{"interrupt", []any{300, "\x03"}, none},
		{"interrupt after a letter", []any{300, "y", "\x03"}, none},
		{"end of input", []any{300, "\x04"}, none},
		{"Enter", []any{300, "\r", "\n", "\r\n"}, waits},
		{"help", []any{300, "?", "y", "\r"}, allow(event.ScopeOnce)},
		{"another letter after one was deleted", []any{300, "y", "\x7f", "a", "\r"}, allow(event.ScopeJob)},
		{"deleted", []any{300, "y", "\x7f", "\r"}, waits},
		{"escape", []any{300, "y", "\x1b", "\r"}, waits},
		{"an arrow between", []any{300, "y", "\x1b[D", "\r"}, allow(event.ScopeOnce)},

		// Stray keys.
		{"no Enter", []any{300, "y", "y", "a", "p"}, waits},
		{"a word", []any{300, "w", "a", "y", "\r"}, waits},
		{"a word, then an answer", []any{300, "w", "a", "y", "\r", "y", "\r"}, allow(event.ScopeOnce)},
		{"typed ahead", []any{"y", "\r"}, waits},
		{"before 300 ms", []any{299, "y", "\r"}, waits},
		{"Enter of what was typed before 300 ms", []any{299, "y", 301, "\r"}, waits},
		{"still typing", []any{200, "m", 200, "y", 200, "k", 299, "y", 299, "\r"}, waits},
		{"after typing", []any{200, "y", 300, "a", "\r"}, allow(event.ScopeJob)},
		{"interrupt before 300 ms", []any{"\x03"}, none},
		{"pasted", []any{300, "y\r", "yy\r", "\ny", "y\n"}, waits},
		{"pasted, then Enter", []any{300, "yes", "\r"}, waits},
		{"pasted in parts, first part", []any{300, "y", rapid("es"), 49, "a", "\r"}, waits},
		{"pasted in parts, last part", []any{300, "yes\r", rapid("y"), "\r"}, waits},
		{"Enter pasted after the letter", []any{300, "y", rapid("\r")}, waits},
		{"more pasted after Enter", []any{300, "y", "\r", rapid("ls\r")}, waits},
		{"too soon after something else", []any{300, "\x1b[A", 49, "y", "\r"}, waits},
		{"pasted letter by letter", []any{300, "y", rapid("y"), rapid("\r")}, waits},
		{"after something was pasted", []any{300, "a", rapid("llow"), 60, "\r", 60, "a", "\r"}, allow(event.ScopeJob)},
		{"interrupt right after", []any{300, "y", "\r", rapid("\x03")}, none},
		{"arrows and keypads", []any{300, "\x1b[y", "\r", "\x1bOy", "\r", "\x1bOp", "\r", "\x1b[1;2y", "\r", "\x1by", "\r"}, waits},
		{"arrows in parts", []any{300, "\x1b", "[", 500, "y", "\r", "\x1b", "O", 500, "a", "\r"}, waits},
		{"arrow that begins before 300 ms", []any{200, "\x1b[", 300, "y", "\r"}, waits},
		{"another letter", []any{300, "ý", "\r", "у", "\r", "ｙ", "\r", "\xc3", "\r", "\xff", "\r"}, waits},
		{"a letter after half a character", []any{300, "\xc3", "y", "\r"}, waits},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTerminal()
			if got := ask(t, s, push(), Options{}, tt.keys...); got != tt.want {
				t.Errorf("%+v, want %+v; on the screen:\n%s", got, tt.want, s.out.String())
			}
		})
	}
}

// The end must have been on the screen, in the size that the terminal has.
func TestEndOnScreen(t *testing.T) {
	allowed := outcome{Answer: event.Answer{Allow: true, Scope: event.ScopeOnce}}
	waits := outcome{open: true}
	for name, tt := range map[string]struct {
		keys func(s *fakeTerminal) []any
		want outcome
	}{
		"first page":   {func(*fakeTerminal) []any { return []any{300, "y", "\r", "a", "\r", "p", "\r"} }, waits},
		"third page":   {func(*fakeTerminal) []any { return []any{300, " ", " ", "y", "\r"} }, waits},
		"all pages":    {func(*fakeTerminal) []any { return []any{300, " ", " ", " ", "y", "\r"} }, allowed},
		"a page more":  {func(*fakeTerminal) []any { return []any{300, " ", " ", " ", " ", "y", "\r"} }, allowed},
		"deny before":  {func(*fakeTerminal) []any { return []any{300, "n", "\r", "\r"} }, outcome{}},
		"leave before": {func(*fakeTerminal) []any { return []any{300, "q", "\r"} }, none},
		"smaller": {func(s *fakeTerminal) []any {
			return []any{300, " ", " ", " ", func() { s.columns = 60 }, "y", "\r", 360, "y", "\r"}
		}, waits},
		"smaller, read again": {func(s *fakeTerminal) []any {
			return []any{300, " ", " ", " ", func() { s.columns = 60 }, "y", "\r", 360, " ", " ", " ", "y", "\r"}
		}, allowed},
		"keys after the new size are dropped": {func(s *fakeTerminal) []any {
			return []any{300, func() { s.rows = 200 }, "y", "\r", 250, "y", "\r"}
		}, waits},
		"larger": {func(s *fakeTerminal) []any { return []any{300, func() { s.rows = 200 }, "y", "\r", 360, "y", "\r"} }, allowed},
		"much too small": {func(s *fakeTerminal) []any {
			s.columns, s.rows = 10, 3
			return []any{300, " ", "y", "\r", "a", "\r"}
		}, waits},
		"too small to show, then larger": {func(s *fakeTerminal) []any {
			s.columns, s.rows = 30, 6
			return []any{300, func() { s.columns, s.rows = 80, 200 }, " ", 360, "y", "\r"}
		}, allowed},
		"size not known": {func(s *fakeTerminal) []any {
			s.columns, s.rows = 0, 0
			return []any{300, " ", " ", " ", "y", "\r"}
		}, allowed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTerminal()
			if got := ask(t, s, long(), Options{}, tt.keys(s)...); got != tt.want {
				t.Errorf("%+v, want %+v; on the screen:\n%s", got, tt.want, s.out.String())
			}
		})
	}
}

// A row that the terminal breaks, or a page that is longer than the screen, would move what was
// asked about out of sight.
func TestPagesFit(t *testing.T) {
	for _, size := range [][2]int{{20, 12}, {21, 14}, {39, 9}, {40, 10}, {80, 24}, {200, 50}} {
		a := long()
		a.Effect.Argv = append(a.Effect.Argv, strings.Repeat("x", 500), "日本語の長い引数が続きます。", strings.Repeat("α", 100), strings.Repeat(" y", 200))
		s := newTerminal()
		s.columns, s.rows = size[0], size[1]
		q := &question{console: s, about: a, view: approval.Render(a, nil), offers: Offers(a)}
		q.columns, q.rows = s.size()
		q.lines = q.layout()
		for _, line := range q.lines {
			if n := columns.Of(line); n >= size[0] {
				t.Fatalf("%v: %q has %d columns", size, line, n)
			}
		}
		for len(q.lines) > 0 {
			s.out.Reset()
			q.page()
			q.showKeys()
			if n := strings.Count(s.out.String(), "\n"); n >= size[1] {
				t.Fatalf("%v: a page has %d rows:\n%s", size, n, s.out.String())
			}
		}
		if !strings.Contains(s.out.String(), "word") {
			t.Errorf("%v: the end is missing", size)
		}
	}
}

// FuzzLayout shows any text on terminals of any size.
func FuzzLayout(f *testing.F) {
	f.Add("git\x00push", "said", 80)
	f.Add("日本\x00\x1b[2J\u202e"+strings.Repeat("α", 50), "a\tb\n\n\n\n\n\n"+strings.Repeat(" ", 40), 20)
	f.Add("👩\u200d👩\u200d👧\x00e\u0301\u0301", "⚠\ufe0f \r\x00", 39)
	f.Fuzz(func(t *testing.T, argv, said string, across int) {
		a := push()
		a.Effect.Argv, a.Said, a.Why, a.Effect.Diff = strings.Split(argv, "\x00"), said, said, said
		q := &question{about: a, view: approval.Render(a, nil), offers: Offers(a), columns: min(max(across, minColumns), 300), rows: 24}
		for _, line := range q.layout() {
			if n := columns.Of(line); n >= q.columns || strings.ContainsFunc(line, unicode.IsControl) || terminal.Clean(line) != line {
				t.Errorf("%q has %d of %d columns", line, n, q.columns)
			}
		}
	})
}

// An answer for longer than once is offered where it can be kept.
func TestOffers(t *testing.T) {
	once, plan := push(), push()
	once.Once = true
	plan.Effect = event.Effect{Kind: event.PlanEffect, Plan: "Read."}
	for name, a := range map[string]*event.Approval{"once": once, "plan": plan} {
		s := newTerminal()
		if got := ask(t, s, a, Options{}, 300, "a", "\r", "p", "\r"); !got.open || strings.Contains(s.out.String(), "job") {
			t.Errorf("%s: %+v\n%s", name, got, s.out.String())
		}
		if got := ask(t, newTerminal(), a, Options{}, 300, "y", "\r"); !got.Allow {
			t.Errorf("%s: %+v", name, got)
		}
	}
	wide := func(a *event.Approval) []Offer {
		return append(Offers(a), Offer{Key: 'w', Text: "always allow git push", Words: "git push **", Answer: event.Answer{Allow: true, Scope: event.ScopeAlways}})
	}
	s := newTerminal()
	if got := ask(t, s, push(), Options{Offers: wide}, 300, "w", "\r"); got.Scope != event.ScopeAlways || !strings.Contains(s.out.String(), "rule: in all projects, coder can run: git push **") || !strings.Contains(s.out.String(), "w always allow git push") {
		t.Errorf("%+v\n%s", got, s.out.String())
	}
}

func TestScreen(t *testing.T) {
	a := push()
	a.Number, a.Of, a.Why, a.Said = 1, 3, "publishes", "Let me publish this.\n\x1b[2Jgone"
	for name, tt := range map[string]struct {
		a             *event.Approval
		columns, rows int
		color         bool
		keys          []any
	}{
		"once":   {a, 80, 24, false, []any{300, "y", "\r"}},
		"colour": {a, 80, 24, true, []any{300, "y", "\r"}},
		"narrow": {a, 24, 40, false, []any{300, "a", "\r"}},
		"pages":  {long(), 60, 14, false, []any{300, "y", "\r", " ", "?", "n", "\r", "too many words", "\r"}},
		"small":  {a, 10, 3, false, []any{300, "y", "\r", "q", "\r"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTerminal()
			s.columns, s.rows = tt.columns, tt.rows
			if got := ask(t, s, tt.a, Options{Color: tt.color}, tt.keys...); got.open {
				t.Error("the question is still open")
			}
			got := s.out.String()
			if strings.Count(got, "\n") != strings.Count(got, "\r\n") {
				t.Error("a line ends without a return")
			}
			testkit.Golden(t, name+".golden", strings.ReplaceAll(strings.ReplaceAll(got, "\r\n", "\n"), "\x1b", "ESC"))
		})
	}
}

// Without a terminal, the job waits. A cancelled job does not.
func TestNoAnswer(t *testing.T) {
	s := newTerminal()
	s.denied = errors.New("in the background")
	if _, err := newApprover(s, Options{}).Ask(t.Context(), event.Request{Question: event.ToolCall{ToolName: "ask"}}); !errors.Is(err, engine.ErrNoAnswer) || s.out.Len() > 0 {
		t.Errorf("a question of an Expert: %v, %q", err, s.out.String())
	}
	if got := ask(t, s, push(), Options{}); got != none || s.out.Len() > 0 {
		t.Errorf("in the background: %+v, %q", got, s.out.String())
	}
	s = newTerminal()
	if got := ask(t, s, push(), Options{}, 300, func() { close(s.typed) }); got != none {
		t.Errorf("terminal closed: %+v", got)
	}
	s = newTerminal()
	s.broken = true
	if got := ask(t, s, push(), Options{}, 300); got != none {
		t.Errorf("nothing can be written: %+v", got)
	}
	s = newTerminal()
	if got := ask(t, s, push(), Options{}, 300, func() { s.broken = true }, "y", "\r"); got != none {
		t.Errorf("nothing can be written at the end: %+v", got)
	}

	errStop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if _, err := newApprover(newTerminal(), Options{}).Ask(ctx, event.Request{Approval: push()}); !errors.Is(err, errStop) {
		t.Errorf("cancelled: %v", err)
	}
}

// Two questions at once are asked one after the other, and a cancelled one does not wait.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTerminal()
		s.typed = make(chan string)
		a := newApprover(s, Options{})
		ended := make(chan error, 2)
		for i := range 2 {
			go func() {
				request := push()
				request.Number, request.Of = i+1, 2
				_, err := a.Ask(t.Context(), event.Request{Approval: request})
				ended <- err
			}()
		}
		for range 2 {
			time.Sleep(time.Second)
			synctest.Wait()
			if n := strings.Count(s.out.String(), "Allow this command?"); n != 1 {
				t.Fatalf("%d questions are on the screen", n)
			}
			s.out.Reset()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := a.Ask(ctx, event.Request{Approval: push()}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			s.typed <- "y"
			time.Sleep(time.Second)
			s.typed <- "\r"
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// A panic leaves the terminal as it was.
func TestPanic(t *testing.T) {
	s := newTerminal()
	defer func() {
		if recover() == nil || s.isRaw != 0 {
			t.Errorf("the terminal is left in another mode %d times", s.isRaw)
		}
	}()
	_, _ = newApprover(s, Options{Redact: func(string) string { panic("here") }}).Ask(t.Context(), event.Request{Approval: push()})
}

// What others write while a question is there comes after it, in its order.
func TestOutputWaits(t *testing.T) {
	s := newTerminal()
	output := &Output{}
	progress, log := output.Writer(s), output.Writer(s)
	write := func(w io.Writer, text string) func() {
		return func() {
			if n, err := io.WriteString(w, text); err != nil || n != len(text) {
				t.Errorf("%d, %v", n, err)
			}
		}
	}
	write(progress, "before\n")()
	ask(t, s, push(), Options{Output: output}, write(progress, "one\n"), 300, write(log, "two\n"), write(progress, "three\n"), "y", "\r")
	write(progress, "after\n")()
	got := s.out.String()
	if !strings.HasPrefix(got, "before\n\r\nAllow this") || !strings.HasSuffix(got, "answered: allow once\r\none\ntwo\nthree\nafter\n") {
		t.Errorf("%s", got)
	}
}

// Writers of more than is kept back wait for the answer.
func TestMuchOutputWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := &Output{}
		var out strings.Builder
		output.hold()
		written := make(chan error, 1)
		go func() {
			w := output.Writer(&out)
			for i := range 3 {
				if _, err := fmt.Fprintf(w, "%d%s\n", i, strings.Repeat("x", maxHeld/2)); err != nil {
					written <- err
				}
			}
			written <- nil
		}()
		synctest.Wait()
		if out.Len() > 0 || len(written) > 0 {
			t.Error("it did not wait")
		}
		output.release()
		if err := <-written; err != nil {
			t.Error(err)
		}
		if got := strings.ReplaceAll(out.String(), "x", ""); got != "0\n1\n2\n" {
			t.Errorf("%q", got)
		}
	})
}
