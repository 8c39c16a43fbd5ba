package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A detail shows everything about one row of a job: the arguments of a call and its whole result, when
// it was, and the number of its record.
type detail struct {
	viewer *viewer
	jobID  string
	row    narrate.Row
}

func newDetail(p *program, jobID string, row narrate.Row) screen {
	return &detail{viewer: &viewer{p: p, name: row.Label, what: "the result"}, jobID: jobID, row: row}
}

func (d *detail) title() string                 { return d.viewer.title() }
func (d *detail) render(width, height int) view { return d.viewer.render(width, height) }
func (d *detail) key(k key) (tea.Cmd, bool)     { return d.viewer.key(k) }
func (d *detail) paste(text string) tea.Cmd     { return d.viewer.paste(text) }
func (d *detail) actions() []action             { return d.viewer.actions() }

func (d *detail) opened() tea.Cmd {
	v := d.viewer
	if v.ready {
		return nil // the help was above it
	}
	return v.p.work(func(ctx context.Context) func() tea.Cmd {
		number, _, err := v.p.opts.Project.Record(ctx, d.jobID, d.row.Event)
		where := fmt.Sprint(number)
		if err != nil { // the rest is known all the same
			where = "not known: " + err.Error()
		}
		return func() tea.Cmd {
			d.fill(where)
			v.ready = true
			return nil
		}
	})
}

// fill adds what is known about the row.
func (d *detail) fill(where string) {
	v, r := d.viewer, d.row
	summary := r.Summary
	if len(r.Argv) > 0 {
		summary = terminal.ShellJoin(r.Argv...)
	}
	if summary != "" {
		v.add(summary, paint.Bold)
	}
	fact := func(name, value string) {
		if value != "" {
			v.addLine(fmt.Sprintf("%-10s %s", name, v.p.cleanLine(value)), 0)
		}
	}
	fact("Directory", r.Dir)
	fact("State", stateWords(r.State))
	fact("Skill", r.SkillName)
	fact("Expert", r.Expert)
	fact("Step", fmt.Sprint(r.Step))
	if r.Began > 0 {
		fact("Started", v.p.time(r.Began).Format(time.DateTime))
		if r.At > r.Began && r.State != narrate.Running {
			fact("Took", (time.Duration(r.At-r.Began) * time.Millisecond).String())
		}
	} else if r.At > 0 {
		fact("At", v.p.time(r.At).Format(time.DateTime))
	}
	fact("Checkpoint", r.Checkpoint)
	fact("Record", where)
	if len(r.Args) > 0 {
		v.addLine("", 0)
		v.addLine("Arguments", paint.Bold)
		v.add(indented(r.Args), 0)
	}
	v.text = r.Output
	if v.text == "" {
		var texts []string
		for _, t := range r.Body {
			texts = append(texts, t.Text)
		}
		v.text = strings.Join(texts, "\n")
	}
	v.addLine("", 0)
	v.addLine("Result", paint.Bold)
	if strings.TrimSpace(v.text) == "" {
		v.addLine("nothing yet", paint.Quiet)
		return
	}
	v.add(v.text, 0)
}

func stateWords(s narrate.State) string {
	return []string{"done", "called, and not started", "running", "waiting for you", "done, with a warning", "failed", "not known: perstack ended while it was running"}[s]
}

// indented returns JSON as people read it. What is no JSON stays as it is.
func indented(value []byte) string {
	v := jsontext.Value(slices.Clone(value))
	if v.Indent(jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return string(value)
	}
	return string(v)
}
