package mcp

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// A visit is a skill on a remote server, with what it told.
type visit struct {
	*Skill
	changed, stopped chan string

	mu   sync.Mutex
	told []string
}

func newVisit(t *testing.T, r *Remote, locked []skill.Tool) *visit {
	t.Helper()
	v := &visit{changed: make(chan string, 10), stopped: make(chan string, 10)}
	v.Skill = New(Options{
		Name: "far", Remote: r, Locked: locked,
		Report: func(b event.Body) {
			v.mu.Lock()
			defer v.mu.Unlock()
			switch b := b.(type) {
			case event.SkillStarting:
				v.told = append(v.told, "starting "+b.SkillName)
			case event.SkillConnected:
				v.told = append(v.told, "connected "+b.SkillName)
			}
		},
		Stop:    func(err error) { v.stopped <- err.Error() },
		Changed: func() { v.changed <- "changed" },
		Now:     time.Now,
		Log:     slog.New(slog.DiscardHandler),
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
// is started again in between, and the events.
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
			v.mu.Lock()
			defer v.mu.Unlock()
			if want := []string{"starting far", "connected far"}; len(v.told) < 2 || !slices.Equal(v.told[:2], want) {
				t.Errorf("told %v, want %v first", v.told, want)
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

func TestRemoteStartErrors(t *testing.T) {
	login := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	for _, test := range []struct {
		endpoint string
		sse      bool
		want     []string
	}{
		{login.URL, true, []string{`skill "far"`, "the server asks for a login (OAuth), which this version cannot do; pass a token with headers"}},
		{newWeb(t, http.NotFoundHandler()).URL, true, []string{`skill "far"`, "does not offer streamable HTTP", "does not offer SSE"}},
		{newWeb(t, handlers()["sse"]).URL, false, []string{`skill "far"`, `use type = "mcpSseSkill"`}},
	} {
		err := newVisit(t, remoteAt(t, test.endpoint, test.sse), nil).Start(t.Context())
		for _, want := range test.want {
			wantError(t, err, want)
		}
	}
	if n := len(login.requests()); n != 2 {
		t.Errorf("a server that wants a login was asked %d times, want 2: in the newer and in the older way", n)
	}
}
