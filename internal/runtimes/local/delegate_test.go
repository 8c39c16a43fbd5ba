package local_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A witness is a model that remembers which tools each Expert was offered.
type witness struct {
	model.Model
	mu      sync.Mutex
	offered map[string][]string
}

func (w *witness) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(req.Tools) > 0 {
		w.offered[req.Expert] = nil
		for _, t := range req.Tools {
			w.offered[req.Expert] = append(w.offered[req.Expert], t.Name)
		}
	}
	return w.Model.Generate(ctx, req)
}

// A team is run by the Expert lead.
type team struct {
	result  engine.Result
	offered map[string][]string
	events  []event.Event
}

func work(t *testing.T, experts, cassette string, change func(*job.Spec, *engine.Parts)) *team {
	t.Helper()
	out := &team{offered: make(map[string][]string)}
	spec := teamSpec(t, experts, t.TempDir())
	parts := newParts(t, cassette, func(e event.Event) error {
		out.events = append(out.events, e)
		return nil
	})
	parts.Model = &witness{Model: parts.Model, offered: out.offered}
	if change != nil {
		change(&spec, &parts)
	}
	var err error
	if out.result, err = local.Run(t.Context(), spec, parts); err != nil {
		t.Fatal(err)
	}
	return out
}

const question = `
type = "interactiveSkill"
tools.ask.inputJsonSchema = '{"type":"object"}'
`

// Each Expert is offered the Experts that it names, and no others; only the first one has
// somebody to ask questions.
func TestWhatDelegatesAreOffered(t *testing.T) {
	got := work(t, `
[experts.lead]
instruction = "Lead."
delegates = ["middle"]
[experts.lead.skills.user]`+question+`
[experts.middle]
instruction = "Pass it on."
delegates = ["@acme/leaf@1.0.0"]
[experts.middle.skills.user]`+question+`
[experts."@acme/leaf"]
version = "1.0.0"
instruction = "Do it."
`, `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "middle"
args = { query = "to the middle" }
[[turn]]
expert = "middle"
[[turn.call]]
tool = "leaf"
args = { query = "to the leaf" }
[[turn]]
expert = "@acme/leaf"
text = "from the leaf"
[[turn]]
expert = "middle"
turn = 2
contains = "from the leaf"
text = "from the middle"
[[turn]]
expert = "lead"
turn = 2
contains = "from the middle"
text = "done"
`, nil)
	if got.result.Status != event.StatusCompleted || got.result.Text != "done" {
		t.Fatalf("%+v", got.result)
	}
	base := prompt.Names()
	for name, want := range map[string][]string{"lead": {"middle", "ask"}, "middle": {"leaf"}, "@acme/leaf": nil} {
		rest := slices.DeleteFunc(slices.Clone(got.offered[name]), func(tool string) bool { return slices.Contains(base, tool) })
		if !slices.Equal(rest, want) || !slices.Contains(got.offered[name], event.CompletionTool) {
			t.Errorf("%s was offered %q, want %q", name, rest, want)
		}
	}
}

// Skills belong to a Run: each Expert has servers of its own, and those of a parent are
// still there when its delegates have answered.
func TestSkillsOfDelegates(t *testing.T) {
	program := evil.Program(t)
	server := "\ntype = \"mcpStdioSkill\"\ncommand = '" + program + "'\nargs = [\"good\"]\ntoolPrefix = true\n"
	got := work(t, `
[experts.lead]
instruction = "Lead."
delegates = ["helper"]
[experts.lead.skills.mine]`+server+`
[experts.helper]
instruction = "Help."
[experts.helper.skills.theirs]`+server, `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "mine__add"
args = { a = 1, b = 2 }
[[turn.call]]
tool = "helper"
args = { query = "help" }
[[turn]]
expert = "helper"
[[turn.call]]
tool = "theirs__add"
args = { a = 20, b = 3 }
[[turn]]
expert = "helper"
turn = 2
contains = "23"
text = "helped"
[[turn]]
expert = "lead"
turn = 2
contains = "helped"
[[turn.call]]
tool = "mine__add"
args = { a = 40, b = 2 }
[[turn]]
expert = "lead"
turn = 3
contains = "42"
text = "done"
`, nil)
	if got.result.Status != event.StatusCompleted || got.result.Text != "done" {
		t.Fatalf("%+v", got.result)
	}
	var seen []string
	for _, e := range got.events {
		switch b := e.Body.(type) {
		case event.SkillConnected:
			if b.SkillName != event.BaseSkill {
				seen = append(seen, "start "+b.SkillName)
			}
		case event.SkillDisconnected:
			if b.SkillName != event.BaseSkill {
				seen = append(seen, "end "+b.SkillName)
			}
		}
	}
	if want := []string{"start mine", "start theirs", "end theirs", "end mine"}; !slices.Equal(seen, want) {
		t.Errorf("servers: %q, want %q", seen, want)
	}
}

// A todo list belongs to a conversation: what the parent has still to do does not keep the
// child from being done, and the child's list is not the parent's.
func TestTodoListsOfDelegates(t *testing.T) {
	got := work(t, `
[experts.lead]
instruction = "Lead."
delegates = ["helper"]
[experts.helper]
instruction = "Help."
`, `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "todo"
args = { newTodos = ["ask"] }
[[turn.call]]
tool = "helper"
args = { query = "help" }
[[turn]]
expert = "helper"
[[turn.call]]
tool = "attemptCompletion"
[[turn]]
expert = "helper"
text = "helped"
[[turn]]
expert = "lead"
[[turn.call]]
tool = "attemptCompletion"
[[turn]]
expert = "lead"
turn = 3
contains = "remainingTodos"
text = "the list is still there"
`, nil)
	if got.result.Status != event.StatusCompleted || got.result.Text != "the list is still there" {
		t.Fatalf("%+v", got.result)
	}
}

// The workspace is one, and so is its limit: what a child writes stops the whole job.
func TestMaxWorkspaceBytesOfDelegates(t *testing.T) {
	got := work(t, `
[experts.lead]
instruction = "Lead."
delegates = ["helper"]
[experts.helper]
instruction = "Help."
`, `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "helper"
args = { query = "help" }
[[turn]]
expert = "helper"
[[turn.call]]
tool = "writeTextFile"
args = { path = "f.txt", text = "`+strings.Repeat("x", 100_000)+`" }
[[turn]]
expert = "helper"
delay = "1h" # a child may have begun to ask when it hears of the limit
text = "never said"
`, func(spec *job.Spec, _ *engine.Parts) { spec.Limits.MaxWorkspaceBytes = 50_000 })
	var stopped []string
	for _, e := range got.events {
		if b, ok := e.Body.(event.StopRunByLimit); ok && b.Limit == event.LimitWorkspace {
			stopped = append(stopped, e.ExpertKey)
		}
	}
	if got.result.Status != event.StatusStoppedByLimit || !slices.Equal(stopped, []string{"helper", "lead"}) {
		t.Errorf("%+v, stopped %q", got.result, stopped)
	}
}
