package local_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/sandbox/cell"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/store/memory"
)

// A machine that cannot keep cells runs no job that needs one, also if only an Expert that
// may be asked later does. Nothing is started or recorded; others run as ever.
func TestNoCellsHere(t *testing.T) {
	const (
		lead   = "[experts.lead]\ninstruction = 'Lead.'\ndelegates = ['helper']\n[experts.helper]\ninstruction = 'Help.'\ndelegates = ['lead']\n"
		skill  = "[experts.helper.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'no-such-program'\n"
		asking = skill + "sandbox = 'landlock'\n"
	)
	for _, c := range []struct {
		name, experts string
		change        func(*local.Runtime)
		refused       string // for whom
	}{
		{"all", lead, func(r *local.Runtime) { r.Cells = skills.Machine(true) }, "lead"},
		{"a delegate", lead + asking, func(r *local.Runtime) { r.Cells = skills.Machine(false) }, "helper"},
		{"a delegate, and nobody said anything", lead + asking, func(*local.Runtime) {}, "helper"},
		{"nobody", lead + skill, func(r *local.Runtime) { r.Cells = skills.Machine(false) }, ""},
		{"shared", lead + asking, func(r *local.Runtime) { r.SharedCell = true }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, problems := manifest.Parse("perstack.toml", []byte(c.experts))
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			turns, err := replay.Parse("cassette.toml", []byte("[[turn]]\ntext = 'done'\n"))
			if err != nil {
				t.Fatal(err)
			}
			runtime := &local.Runtime{
				Model: replay.New(turns), Store: memory.New(), Source: engine.SystemSource(), Log: slog.New(slog.DiscardHandler), Workspace: t.TempDir(),
			}
			runtime.WithoutCells(fmt.Errorf("%w: the kernel is old", cell.ErrUnavailable))
			c.change(runtime)
			coordinator, _ := config.Lookup("lead")
			events := 0
			r, err := runtime.Run(t.Context(), engine.Job{
				ID: "job", Expert: coordinator, Lookup: config.Lookup, Input: engine.Input{Query: "go"}, Limits: expert.Limits{MaxSteps: 5},
			}, engine.Listener{Emit: func(event.Event) error { events++; return nil }})
			if c.refused == "" {
				if err != nil || r.Status != event.StatusCompleted {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			var known *engine.Error
			if !errors.As(err, &known) || known.Kind != engine.KindInput || !errors.Is(err, cell.ErrUnavailable) || events > 0 {
				t.Fatalf("error %v, %d events", err, events)
			}
			for _, want := range []string{`expert "` + c.refused + `"`, "the kernel is old", "without --sandbox"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in %v", want, err)
				}
			}
		})
	}
}
