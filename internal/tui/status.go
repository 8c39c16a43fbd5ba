package tui

import (
	"fmt"
	"math"
	"strings"

	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/wording"
)

// This file says in the header and in the status line how far the open job is.

// summary is the right side of the header: the job and what it costs.
func (c *chat) summary(short bool) paint.Line {
	if c.jobID == "" {
		return nil
	}
	id := c.prefix
	if id == "" {
		id = shortID(c.jobID)
	}
	text := "job " + c.p.cleanLine(id)
	if short {
		text = c.p.cleanLine(id)
	}
	if c.isFollowing() && !short {
		text += " (read-only)"
	}
	line := paint.Text(text, paint.Quiet)
	if c.doubt != "" {
		line = paint.Join(line, paint.Text(" ("+c.doubt+")", paint.Red|paint.Bold))
	}
	t := c.transcript.totals
	switch money := wording.Cost(t.Cost); {
	case t.MaxCost > 0:
		line = paint.Join(line, paint.Text("  ", 0), c.bar(t.Cost/t.MaxCost), paint.Text(" "+money+"/"+wording.Budget(t.MaxCost), 0))
	case t.Cost > 0:
		line = paint.Join(line, paint.Text("  "+money, 0))
	}
	return line
}

// barLength is how many signs the bar of the budget has.
const barLength = 4

// bar shows which part of the budget is used.
func (c *chat) bar(part float64) paint.Line {
	full := 0
	if part > 0 { // written so that NaN counts as nothing
		full = int(math.Ceil(min(part, 1) * barLength))
	}
	style := paint.Green
	if part >= 0.9 {
		style = paint.Red
	}
	return paint.Join(paint.Text(strings.Repeat("#", full), style), paint.Text(strings.Repeat("-", barLength-full), paint.Quiet))
}

// status says what the job is doing, and names the keys that help.
func (c *chat) status(width int) paint.Line {
	dot := c.p.palette.Mark(" · ", " - ")
	parts := c.state()
	add := func(part string) {
		if paint.TextWidth(strings.Join(parts, dot)+dot+part) <= width {
			parts = append(parts, part)
		}
	}
	t := c.transcript.totals
	if t.Steps > 0 {
		step := fmt.Sprintf("step %d", t.Steps)
		if t.MaxSteps > 0 {
			step += fmt.Sprintf("/%d", t.MaxSteps)
		}
		add(step)
	}
	if n := t.Tokens.Input + t.Tokens.Output; n > 0 {
		add(wording.Short(n) + " tok")
	}
	keys := "Ctrl-P actions" + dot + "F1 help"
	if paint.TextWidth(strings.Join(parts, dot)+dot+keys) > width {
		keys = "F1 help"
	}
	add(keys)
	return paint.Text(strings.Join(parts, dot), 0)
}

// state is what the status line begins with.
func (c *chat) state() []string {
	switch w := c.work; {
	case w == nil:
		return c.idle()
	case w.stopped:
		return []string{"stopping, saving the job"}
	case !w.runs && !w.follows:
		return []string{"reading the job"}
	}
	phase, since := c.phase(), c.work.since
	if a := c.current(); a != nil {
		phase, since = string(narrate.ForUser), a.drawn
		if since.IsZero() { // it is drawn after the status
			since = c.p.opts.Clock()
		}
	}
	return []string{phase + " " + wording.Clock(c.p.opts.Clock().Sub(since))}
}

// phase is what the coordinator is doing; a retry says when.
func (c *chat) phase() string {
	r := c.transcript.coordinator()
	if r.Phase == "" || r.Phase.IsOver() {
		return "starting"
	}
	text := string(r.Phase)
	switch {
	case r.Phase == narrate.Calling && r.What == "Run":
		text += " a command"
	case r.What != "":
		text += " " + c.p.cleanLine(r.What)
	}
	if left := r.Until - c.p.opts.Clock().UnixMilli(); r.Phase == narrate.Retrying && left > 0 {
		text += fmt.Sprintf(" in %ds", (left+999)/1000)
	}
	return text
}

// idle says what the user can do while nothing runs.
func (c *chat) idle() []string {
	switch {
	case c.branch != nil && c.branch.restoreFiles:
		return []string{fmt.Sprintf("next message: from step %d, with files", c.branch.at.Step), "Esc cancels"}
	case c.branch != nil:
		return []string{fmt.Sprintf("next message: from step %d", c.branch.at.Step), "Esc cancels"}
	case c.jobID == "":
		return []string{"Enter sends"}
	case c.waitsForPermission():
		return []string{"waiting for your permission; Enter asks again"}
	case c.canResume():
		return []string{"stopped; Enter resumes"}
	case c.isAsked():
		return []string{"waiting for your answer"}
	}
	return []string{string(c.transcript.coordinator().Phase)}
}
