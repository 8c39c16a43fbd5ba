package log

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store/memory"
)

func TestWalls(t *testing.T) {
	for want, b := range map[string]event.StartRun{
		notIsolated:                                              {Runtime: "local"},
		"a cell for each skill (--sandbox)":                      {Runtime: "local", Walls: &event.Walls{Sandbox: true}},
		"docker, a cell for each skill":                          {Runtime: "docker"},
		"docker, one shared cell for all skills (--shared-cell)": {Runtime: "docker", Walls: &event.Walls{SharedCell: true}},
		"docker, a cell for each skill, out by squid, workspace read-only, on the image tools:1, commands get A B": {
			Runtime: "docker", Walls: &event.Walls{Proxy: "squid", ReadOnlyWorkspace: true, BaseImage: "tools:1", Env: []string{"A", "B"}}},
	} {
		if got := walls(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The head of a run says what stood around it, also if it was resumed behind something
// else; and a check that nobody made does not look like one that was passed.
func TestWallsOfARun(t *testing.T) {
	st := memory.New()
	s := begin(t, st, "walledjob", "run1", "writer", noon)
	start := func(checkpoint string, from *event.Origin, w *event.Walls) event.StartRun {
		return event.StartRun{InputMessages: []*event.Message{say(event.UserMessage, "Go")}, CheckpointID: checkpoint, From: from, Expert: ref("writer"), Runtime: "docker", Walls: w}
	}
	s.tell(event.SandboxCheck{Check: "cells", OK: true, Message: "not wanted: all skills share one"},
		start("cp1", nil, &event.Walls{SharedCell: true}), event.StartGeneration{}, event.StopRunByInterrupt{Reason: "received interrupt"},
		start("cp2", &event.Origin{RunID: "run1", CheckpointID: "cp1"}, nil), event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Done.")})
	s.end()
	out, _, code := perstackLog(t, st, "walledjob")
	for _, want := range []string{
		"\nWalls: docker, one shared cell for all skills (--shared-cell); then docker, a cell for each skill\n",
		"\n  ● Sandbox cells skipped\n    └ all skills share one\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("code %d, no %q in\n%s", code, want, out)
		}
	}
	if strings.Contains(out, "● Sandbox cells\n") || strings.Count(out, "Walls:") != 1 {
		t.Errorf("%s", out)
	}
}
