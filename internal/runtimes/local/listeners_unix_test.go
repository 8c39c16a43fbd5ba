//go:build unix

package local_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// Commands of each Expert are shown the listener of its own base skill, and what the user
// hands over.
func TestListenersOfExperts(t *testing.T) {
	got := work(t, `
[experts.lead]
instruction = "Lead."
delegates = ["other"]
[experts.other]
instruction = "Help."
`, `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "echo lead sees $HTTPS_PROXY $HANDED"] }
[[turn]]
expert = "lead"
turn = 2
[[turn.call]]
tool = "other"
args = { query = "go" }
[[turn]]
expert = "other"
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "echo other sees $https_proxy $HANDED"] }
[[turn]]
expert = "other"
turn = 2
text = "done"
[[turn]]
expert = "lead"
turn = 3
text = "done"
`, func(spec *job.Spec, parts *engine.Parts) {
		// This test is about proxies, not about sandboxes, which not every machine has.
		spec.Isolation.SharedSandbox = true
		parts.Container = &engine.Container{
			Workspace: spec.Workspace.Dir,
			Proxies: map[string]string{
				engine.ProxyName("lead", expert.BaseSkill):  "http://lead/@perstack/base",
				engine.ProxyName("other", expert.BaseSkill): "http://other/@perstack/base",
			},
			Env: map[string]string{"HANDED": "this"},
		}
	})
	if got.result.Status != event.StatusCompleted {
		t.Fatalf("%+v", got.result)
	}
	var said strings.Builder
	for _, e := range got.events {
		if b, ok := e.Body.(event.EndToolCall); ok {
			said.WriteString(event.FirstText(b.ToolResult.Result))
		}
	}
	for _, want := range []string{"lead sees http://lead/@perstack/base this", "other sees http://other/@perstack/base this"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in %s", want, said.String())
		}
	}
}
