package mcp

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// A visit is a skill on a remote server.
type visit struct {
	*Skill
	changed, stopped chan string
}

func newVisit(t *testing.T, r *Remote, locked []skill.Tool) *visit {
	t.Helper()
	v := &visit{changed: make(chan string, 10), stopped: make(chan string, 10)}
	v.Skill = newSkill(Options{
		Name: "far", Remote: r, Locked: locked,
		Stop:    func(err error) { v.stopped <- err.Error() },
		Changed: func() { v.changed <- "changed" },
	})
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return v
}

func (v *visit) call(t *testing.T, tool, args string) (string, bool) {
	t.Helper()
	r, err := v.Call(t.Context(), event.ToolCall{ID: "1", SkillName: "far", ToolName: tool, Args: []byte(args)})
	if err != nil {
		t.Fatalf("call of %s: %v", tool, err)
	}
	var text []string
	for _, p := range r.Result {
		text = append(text, p.Text)
	}
	return strings.Join(text, "\n"), r.IsError
}

// A whole visit over each transport: start, tools, calls, a list that grows, a server that
// is started again in between.
func TestRemoteVisit(t *testing.T) {
	for kind := range handlers() {
		t.Run(kind, func(t *testing.T) {
			var mu sync.Mutex
			current := handlers()[kind]
			w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				h := current
				mu.Unlock()
				h.ServeHTTP(w, r)
			}))
			v := newVisit(t, remoteAt(t, w.URL+"/mcp", true), nil)
			if err := v.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			tools, err := v.Tools(t.Context())
			if err != nil || len(tools) != 4 {
				t.Fatalf("tools are %v, %v", tools, err)
			}
			if got, isError := v.call(t, "echo", `{"text":"hello"}`); got != "hello" || isError {
				t.Errorf("echoed %q, %v", got, isError)
			}
			if kind != "stateless" {
				v.call(t, "grow", `{}`)
				wait(t, "list", v.changed, "changed")
				if tools, err := v.Tools(t.Context()); err != nil || len(tools) != 5 {
					t.Errorf("tools are %v, %v; want one more", tools, err)
				}
			}

			mu.Lock()
			current = handlers()[kind]
			mu.Unlock()
			w.CloseClientConnections()
			if got, isError := v.call(t, "echo", `{"text":"lost"}`); isError && (!strings.Contains(got, "unknown") || strings.Contains(got, "32005")) {
				t.Errorf("a call was lost with %q, want that its outcome is unknown", got)
			}
			if got, isError := v.call(t, "echo", `{"text":"again"}`); got != "again" || isError {
				t.Errorf("after the server was started again: %q, %v", got, isError)
			}
		})
	}
}

// A remote server that does not offer what was installed stops the run.
func TestRemoteRugPull(t *testing.T) {
	w := newWeb(t, handlers()["http"])
	first := newVisit(t, remoteAt(t, w.URL, false), nil)
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	locked, err := first.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	same := newVisit(t, remoteAt(t, w.URL, false), locked)
	if got, isError := same.call(t, "echo", `{"text":"hello"}`); got != "hello" || isError {
		t.Errorf("with the same list: %q, %v", got, isError)
	}
	same.call(t, "grow", `{}`) // in mid-run
	select {
	case got := <-same.stopped:
		if !strings.Contains(got, "+ new") {
			t.Errorf("stopped with %q, want the new tool named", got)
		}
	case <-t.Context().Done():
		t.Error("a new tool did not stop the run")
	}

	later := newVisit(t, remoteAt(t, w.URL, false), locked) // between install and run
	r, err := later.Call(t.Context(), event.ToolCall{ID: "1", SkillName: "far", ToolName: "echo", Args: []byte(`{"text":"hello"}`)})
	if err == nil && !r.IsError {
		t.Errorf("called all the same: %+v", r)
	}
	wantError(t, errors.New(<-later.stopped), "+ new")
}

// The error of a start names the skill, the server and every transport that was tried;
// what it says is in TestRemoteErrors.
func TestRemoteStartErrors(t *testing.T) {
	nothing := newWeb(t, http.NotFoundHandler())
	err := newVisit(t, remoteAt(t, nothing.URL+"/mcp?key="+queryCanary, true), nil).Start(t.Context())
	wantError(t, err, `skill "far": `+nothing.URL+": streamable HTTP: the server does not offer")
	wantError(t, err, "; SSE: the server does not offer")

	refuses := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	wantError(t, newVisit(t, remoteAt(t, refuses.URL, true), nil).Start(t.Context()), "check the token")
	if n := len(refuses.requests()); n != 2 {
		t.Errorf("a server that refuses us was asked %d times, want 2: in the newer and in the older way", n)
	}

	silent := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, method := idOf(t, r) // who has not read to the end does not see that we leave
		if strings.HasPrefix(method, "notifications/") {
			// The library waits up to five seconds until a call is cancelled.
			w.WriteHeader(http.StatusAccepted)
			return
		}
		<-r.Context().Done()
	}))
	v := newVisit(t, remoteAt(t, silent.URL+"/mcp?key="+queryCanary, true), nil)
	v.o.StartTimeout = 50 * time.Millisecond
	wantError(t, v.Start(t.Context()), `skill "far": `+silent.URL+": the server was not ready within 50ms; set startTimeout")
}

// What is told of a remote server is what is told of any other: events with timings and
// notes of progress. The address is told without what may be a key.
func TestRemoteEvents(t *testing.T) {
	for _, name := range []string{"http", "sse"} {
		w := newWeb(t, handlers()[name])
		events := make(chan event.Body, 100)
		s := newSkill(Options{
			Name: "remote", Remote: remoteAt(t, w.URL+"/path?key="+queryCanary, name == "sse"),
			Report: func(b event.Body) { events <- b },
		})
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		starting, _ := (<-events).(event.SkillStarting)
		connected, _ := (<-events).(event.SkillConnected)
		if starting.Command != w.URL || strings.Contains(starting.Command, queryCanary) {
			t.Errorf("%s: %+v", name, starting)
		}
		if connected.ServerInfo == nil || connected.ServerInfo.Name != "real" || connected.TotalDurationMS == nil || *connected.TotalDurationMS < 0 {
			t.Errorf("%s: %+v", name, connected)
		}
		notes := make(chan string, 10)
		ctx := skill.WithProgress(t.Context(), func(_, note string) { notes <- note })
		if r, err := s.Call(ctx, event.ToolCall{ID: "c", ToolName: "progress"}); err != nil || r.IsError {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		wait(t, "progress", notes, "1 half")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
