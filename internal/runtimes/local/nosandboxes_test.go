package local_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/job"
)

// A machine that cannot keep sandboxes runs no job that needs one, also if only an Expert that
// may be asked later does. Nothing is started or recorded; others run as ever.
func TestNoSandboxesHere(t *testing.T) {
	const (
		lead   = "[experts.lead]\ninstruction = 'Lead.'\ndelegates = ['helper']\n[experts.helper]\ninstruction = 'Help.'\ndelegates = ['lead']\n"
		skill  = "[experts.helper.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'no-such-program'\n"
		asking = skill + "sandbox = 'landlock'\n"
	)
	for _, c := range []struct {
		name, experts string
		change        func(*job.Isolation)
		refused       string // for whom
	}{
		{"all", lead, func(is *job.Isolation) { is.Sandbox = expert.SandboxAuto }, "lead"},
		{"by default", lead, func(is *job.Isolation) { is.Sandbox = "" }, "lead"},
		{"a delegate", lead + asking, func(is *job.Isolation) { is.Sandbox = expert.SandboxOff }, "helper"},
		{"none", lead + skill, func(is *job.Isolation) { is.Sandbox = expert.SandboxOff }, ""},
		{"shared, which is for containers", lead + asking, func(is *job.Isolation) { is.SharedSandbox = true }, "lead"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := teamSpec(t, c.experts, t.TempDir())
			c.change(&spec.Isolation)
			events := 0
			parts := newParts(t, "[[turn]]\ntext = 'done'\n", func(event.Event) error { events++; return nil })
			r, err := local.RunWithoutSandbox(t.Context(), spec, parts, fmt.Errorf("%w: the kernel is old", landlock.ErrUnavailable))
			if c.refused == "" {
				if err != nil || r.Status != event.StatusCompleted {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			var known *engine.Error
			if !errors.As(err, &known) || known.Kind != engine.KindInput || !errors.Is(err, landlock.ErrUnavailable) || events > 0 {
				t.Fatalf("error %v, %d events", err, events)
			}
			for _, want := range []string{`expert "` + c.refused + `"`, "the kernel is old", "without a sandbox", "runtime docker"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in %v", want, err)
				}
			}
		})
	}
}
