package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/stopwatch"
	"github.com/perstack-go/perstack/skill"
)

func progressOf(m message) string {
	var params struct {
		Meta struct {
			Token int64 `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return ""
	}
	return fmt.Sprint(params.Meta.Token)
}

// A call may last as long as there is news of it, up to ten times its limit. Then the
// server is told that the call was cancelled.
func TestCallTimeout(t *testing.T) {
	tests := []struct {
		name     string
		every    time.Duration // between notes of progress; 0 for none
		notes    int
		answers  bool
		want     string
		lasted   time.Duration
		notified bool
		asked    time.Duration // how long the user is asked meanwhile, from the start on
	}{
		{"silence", 0, 0, false, "reported nothing for 10s", seconds(10), true, 0},
		{"news and an answer", seconds(9), 5, true, "done", seconds(45), false, 0},
		{"news and silence", seconds(9), 2, false, "reported nothing for 10s", seconds(28), true, 0},
		{"news for ever", seconds(9), 100, false, "took longer than 1m40s", seconds(100), true, 0},
		{"silence, and a question to the user", 0, 0, false, "reported nothing for 10s", seconds(100), true, seconds(90)},
		{"news for ever, and a question to the user", seconds(9), 100, false, "took longer than 1m40s", seconds(190), true, seconds(90)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				cancelled := make(chan string, 1)
				s, _ := joinScript(t, func(m message, send func(string, ...any)) {
					switch m.Method {
					case "notifications/cancelled":
						cancelled <- string(m.Params)
					case "tools/call":
						go func() {
							for i := range tt.notes {
								select {
								case <-over:
									return
								case <-time.After(tt.every):
								}
								send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":9,"message":"at it"}}`, progressOf(m), i)
							}
							if tt.answers {
								send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
							}
						}()
					}
				}, func(o *Options) {
					o.CallTimeout, o.Clock = seconds(10), &stopwatch.Clock{}
					if tt.asked > 0 {
						time.AfterFunc(tt.asked, o.Clock.Pause())
					}
				})
				notes := make(chan string, 100)
				ctx := skill.WithProgress(skill.WithCall(t.Context(), "c1"), func(id, note string) { notes <- id + " " + note })
				began := time.Now()
				text, isError, err := work(ctx, s)
				close(over)
				if !strings.Contains(text, tt.want) || isError == tt.answers || err != nil || time.Since(began) != tt.lasted {
					t.Errorf("after %v: %q, %t, %v", time.Since(began), text, isError, err)
				}
				if tt.notes > 0 {
					if note := <-notes; note != "c1 0/9 at it" {
						t.Errorf("note %q", note)
					}
				}
				synctest.Wait()
				if tt.notified {
					if params := <-cancelled; !strings.Contains(params, `"requestId":`) {
						t.Errorf("cancelled with %s", params)
					}
				} else if len(cancelled) != 0 {
					t.Error("a call that was answered is cancelled")
				}
				// The server lives on.
				if !s.attempt.isGood() {
					t.Error("the server is gone")
				}
			})
		})
	}
}

// A call that is stopped by its caller is cancelled at the server as well, and an answer
// that comes all the same is dropped.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first message
		s, got := joinScript(t, func(m message, send func(string, ...any)) {
			switch {
			case m.Method == "notifications/cancelled":
				send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"too late"}]}}`, first.ID)
			case m.Method == "tools/call" && first.ID == nil:
				first = m
			case m.Method == "tools/call":
				send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"second"}]}}`, m.ID)
			}
		}, nil)
		why := errors.New("the user had enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if _, _, err := work(ctx, s); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if text, _, err := work(t.Context(), s); text != "second" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if !slices.ContainsFunc(got(), func(m message) bool { return m.Method == "notifications/cancelled" }) {
			t.Error("the server was not told")
		}
		if n := len(s.attempt.server.guard.open); n != 0 {
			t.Errorf("%d questions are still open", n)
		}
	})
}

// A server that does not read delays no call for longer than the limit.
func TestServerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s, _ := joinScript(t, func(m message, _ func(string, ...any)) {
			if m.Method == "tools/call" {
				<-release
			}
		}, func(o *Options) { o.CallTimeout = seconds(10) })
		done := make(chan string)
		for range 50 {
			go func() {
				text, _, _ := work(t.Context(), s)
				done <- text
			}()
		}
		for range 50 {
			if text := <-done; !strings.Contains(text, "reported nothing") {
				t.Errorf("%q", text)
			}
		}
		close(release)
	})
}

// What is sent is what the model wrote, number for number, and an empty object when it
// wrote nothing.
func TestArguments(t *testing.T) {
	var sent string
	s, _ := joinScript(t, func(m message, send func(string, ...any)) {
		if m.Method == "tools/call" {
			sent = string(m.Params)
			send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
		}
	}, nil)
	for args, want := range map[string]string{
		``:                               `"arguments":{}`,
		`{"n":12345678901234567890.10}`:  `"arguments":{"n":12345678901234567890.10}`,
		`{"html":"<b>&</b>", "z":null }`: `"arguments":{"html":"<b>&</b>","z":null}`,
	} {
		r, err := s.Call(t.Context(), event.ToolCall{ID: "c", ToolName: "work", Args: []byte(args)})
		if err != nil || r.IsError || len(r.Result) != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if !strings.Contains(sent, want) {
			t.Errorf("sent %s, want %s", sent, want)
		}
	}
}

// Invalid progress notes are dropped.
func TestBadProgress(t *testing.T) {
	s, _ := joinScript(t, func(m message, send func(string, ...any)) {
		if m.Method != "tools/call" {
			return
		}
		for _, token := range []string{`99`, `"1"`, `null`, `1.5`, `[1]`, `-1`} {
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"not yours"}}`, token)
		}
		for _, params := range []string{`[]`, `{}`, `5`, `{"progressToken":1,"progress":"x","message":{}}`} {
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":%s}`, params)
		}
		send(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
		send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
	}, nil)
	ctx := skill.WithProgress(t.Context(), func(_, note string) { t.Errorf("note %q", note) })
	if text, _, err := work(ctx, s); text != "done" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// A call that comes while the list changes waits for the new list.
func TestCallWaitsForList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists, calls := 0, 0
		connection, _ := play(t, func(m message, send func(string, ...any)) {
			switch m.Method {
			case "tools/list":
				if lists++; lists == 1 {
					polite(ignore)(m, send)
					send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					return
				}
				time.Sleep(time.Second)
				send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
			case "tools/call":
				calls++
			default:
				polite(ignore)(m, send)
			}
		})
		s, err := join(t, connection, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if text, isError, err := work(t.Context(), s); !isError || err != nil || !strings.Contains(text, "does not offer") || calls != 0 {
			t.Errorf("%q, %t, %v, %d calls", text, isError, err, calls)
		}
	})
}

// A server whose list changes all the time is given up.
func TestListChangesForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		connection, _ := play(t, func(m message, send func(string, ...any)) {
			polite(ignore)(m, send)
			if m.Method == "tools/list" {
				n++
				go send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		})
		s, err := join(t, connection, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-s.attempt.server.gone
		if !strings.Contains(s.attempt.server.reason.Error(), "said more than 100 times that its list of tools changed") || n > 102 {
			t.Errorf("after %d lists: %v", n, s.attempt.server.reason)
		}
	})
}
