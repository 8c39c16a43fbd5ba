package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A diff shows how the files of the workspace differ from those at a checkpoint.
type diff struct {
	viewer *viewer
	job    Job
	at     Checkpoint
}

func newDiff(p *program, j Job, at Checkpoint) screen {
	return &diff{viewer: &viewer{p: p, name: fmt.Sprintf("Diff since step %d", at.Step), what: "the diff"}, job: j, at: at}
}

func (d *diff) title() string                 { return d.viewer.title() }
func (d *diff) render(width, height int) view { return d.viewer.render(width, height) }
func (d *diff) key(k key) (tea.Cmd, bool)     { return d.viewer.key(k) }
func (d *diff) paste(text string) tea.Cmd     { return d.viewer.paste(text) }
func (d *diff) actions() []action             { return d.viewer.actions() }

func (d *diff) opened() tea.Cmd {
	v := d.viewer
	if v.ready {
		return nil // the help was above it
	}
	return v.p.work(func(ctx context.Context) func() tea.Cmd {
		text, err := v.p.opts.Project.Diff(ctx, d.job.ID, d.at.ID)
		return func() tea.Cmd {
			v.text, v.err, v.ready = text, err, true
			if strings.TrimSpace(text) == "" {
				v.text = ""
				v.add(fmt.Sprintf("The files are as they were at step %d.", d.at.Step), 0)
				return nil
			}
			for line := range strings.SplitSeq(strings.TrimRight(v.p.clean(text), "\n"), "\n") {
				v.addLine(line, diffStyle(line))
			}
			return nil
		}
	})
}

// diffStyle is that of a line of a diff. Its first character says the same.
func diffStyle(line string) paint.Style {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
		return paint.Bold
	case strings.HasPrefix(line, "@@"):
		return paint.Cyan
	case strings.HasPrefix(line, "+"):
		return paint.Green
	case strings.HasPrefix(line, "-"):
		return paint.Red
	}
	return 0
}
