package mcp

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// What is told of a remote server is what is told of any other: events with timings and
// notes of progress. The address is told without what may be a key.
func TestRemoteEvents(t *testing.T) {
	for _, name := range []string{"http", "sse"} {
		w := newWeb(t, handlers()[name])
		events := make(chan event.Body, 100)
		s := New(Options{
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
