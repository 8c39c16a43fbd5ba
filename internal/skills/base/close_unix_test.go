//go:build unix

package base_test

import (
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/skill"
)

// Closing the supervisor ends a command that is running. What it wrote so far is in the
// answer.
func TestClose(t *testing.T) {
	b := newBench(t)
	ws, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	supervisor := sandbox.NewSupervisor()
	s := base.New(base.Options{Workspace: ws, Environ: os.Environ(), Commands: supervisor, Sandbox: policy.Off(policy.JobOff)})
	ctx := skill.WithProgress(t.Context(), func(_, note string) {
		if note == "ready" {
			if err := supervisor.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	text, r := callWith(ctx, t, s, "exec", object{"command": "sh", "args": []string{"-c", "trap '' TERM; echo why >&2; while :; do echo ready; sleep 0.05; done"}})
	got := fields(t, text)
	if !r.IsError || got["signal"] != "SIGKILL" || !strings.HasPrefix(text, `{"error":"command was ended by SIGKILL"`) || !strings.HasPrefix(got["stdout"].(string), "ready\n") || got["stderr"] != "why\n" {
		t.Error(text)
	}
}
