package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/skill"
)

// A new server is started when the old one is gone and counted, not before.
func TestOneAfterTheOther(t *testing.T) {
	final := errors.New("it died too often")
	for _, counted := range []error{nil, final} {
		synctest.Test(t, func(t *testing.T) {
			starts, noProcess := 0, errors.New("no process here")
			s := newSkill(Options{Name: "s", Process: func(context.Context) (Process, error) {
				starts++
				return Process{}, noProcess
			}})
			s.life, s.end = context.WithCancel(t.Context())
			old := s.newServer(s.life, "old")
			old.cancel()
			done := make(chan struct{})
			close(done)
			s.attempt = &attempt{done: done, server: old}
			next, err := s.begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if starts != 0 {
				t.Error("two servers at once")
			}
			s.final = counted
			close(old.gone)
			_, err = next.wait(t.Context())
			if counted == nil && (!errors.Is(err, noProcess) || starts != 1) || counted != nil && (!errors.Is(err, final) || starts != 0) {
				t.Errorf("started %d times: %v", starts, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A call that is under way when the skill is closed ends with that, and no death is
// counted: we ended the server.
func TestCloseDuringCall(t *testing.T) {
	called := make(chan struct{})
	s, _ := joinScript(t, func(m message, _ func(string, ...any)) {
		if m.Method == "tools/call" {
			close(called)
		}
	}, nil)
	ended := make(chan error)
	go func() {
		text, _, err := work(t.Context(), s)
		if err == nil {
			err = errors.New("a result: " + text)
		}
		ended <- err
	}()
	<-called
	// The first half of Close: the call ends before the second half takes the server down.
	s.mu.Lock()
	s.closed = true
	s.end()
	s.mu.Unlock()
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.failures != 0 {
		t.Errorf("%d deaths were counted", s.failures)
	}
}

// M12: a call does not overtake the second of two changes either: the first may be
// harmless.
func TestCallWaitsForSecondList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists, calls := 0, 0
		connection, _ := play(t, func(m message, send func(string, ...any)) {
			const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
			switch m.Method {
			case "tools/list":
				switch lists++; lists {
				case 1:
					polite(ignore)(m, send)
					send(changed)
				case 2: // it is the same list; but there is news already
					time.Sleep(time.Second)
					send(changed)
					polite(ignore)(m, send)
				default:
					time.Sleep(time.Second)
					send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"work","description":"evil","inputSchema":{"type":"object"}}]}}`, m.ID)
				}
			case "tools/call":
				calls++
				send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
			default:
				polite(ignore)(m, send)
			}
		})
		work1, _, err := define([]byte(`{"name":"work","inputSchema":{"type":"object"}}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := join(t, connection, func(o *Options) { o.Locked = []skill.Tool{Tool(work1)} })
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		text, _, err := work(t.Context(), s)
		if _, ok := errors.AsType[*ChangedError](err); !ok || calls != 0 {
			t.Errorf("%q, %v, %d calls", text, err, calls)
		}
	})
}

// A progress note of a call that is over is dropped.
func TestLateProgress(t *testing.T) {
	first := ""
	s, _ := joinScript(t, func(m message, send func(string, ...any)) {
		if m.Method != "tools/call" {
			return
		}
		if first != "" {
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"late"}}`, first)
		}
		first = progressOf(m)
		send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
	}, nil)
	ctx := skill.WithProgress(t.Context(), func(_, note string) { t.Errorf("note %q", note) })
	for range 2 {
		if text, _, err := work(ctx, s); text != "done" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// A server that was too slow for a call can still report progress of it. The next call does
// not get these notes, and they do not extend its time.
func TestProgressAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := ""
		s, _ := joinScript(t, func(m message, send func(string, ...any)) {
			switch {
			case m.Method != "tools/call":
			case first == "":
				first = progressOf(m)
			default:
				go func() {
					for range 3 {
						time.Sleep(seconds(4))
						send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"late"}}`, first)
					}
				}()
			}
		}, func(o *Options) { o.CallTimeout = seconds(10) })
		ctx := skill.WithProgress(t.Context(), func(_, note string) { t.Errorf("note %q", note) })
		for range 2 {
			begin := time.Now()
			text, _, err := work(ctx, s)
			if lasted := time.Since(begin); !strings.Contains(text, "reported nothing for 10s") || err != nil || lasted != seconds(10) {
				t.Errorf("%q, %v after %v", text, err, lasted)
			}
		}
		time.Sleep(seconds(3)) // until the server has said everything
		synctest.Wait()
	})
}

// A program that writes text and never answers is named by what it wrote.
func TestStrayText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = "sk-0123456789"
		wrote := false
		connection, _ := play(t, func(_ message, send func(string, ...any)) {
			if !wrote {
				send("[1]")
				send("[info] hello \x1b[31mworld %s", key)
				send("more")
				wrote = true
			}
		})
		s := newSkill(Options{Name: "s", Redact: func(text string) string { return strings.ReplaceAll(text, key, "***") }})
		ctx, cancel := context.WithTimeoutCause(t.Context(), s.o.StartTimeout, errStartTimeout)
		defer cancel()
		sv := s.newServer(t.Context(), "program")
		sv.pipe = connection
		err := s.startError(ctx, sv, sv.handshake(ctx, connection, &timing{}, ""))
		want := `skill "s": program: the server was not ready within 1m0s: it wrote "[info] hello world ***" where a message was expected; check that the command`
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "startTimeout") {
			t.Errorf("%v", err)
		}
	})
}
