package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/wording"
)

// This file draws the tree of the Runs of a job: beside the transcript, or on a screen of its own.

// panelFrom is the least width of a terminal that has the panel.
const panelFrom = 72

// panelWidth is how many columns the panel has; 0 if there is none.
func panelWidth(width int) int {
	if width < panelFrom {
		return 0
	}
	return min(max(width/3, 24), 40)
}

// tree returns the Runs, each after the one that delegated to it.
func (t *transcript) tree() []narrate.Run {
	children := make(map[string][]narrate.Run)
	for _, r := range t.runs {
		parent := r.Parent
		if _, known := t.runAt[parent]; !known || parent == r.ID {
			parent = ""
		}
		children[parent] = append(children[parent], r)
	}
	all := make([]narrate.Run, 0, len(t.runs))
	seen := make(map[string]bool)
	var add func(parent string)
	add = func(parent string) {
		for _, r := range children[parent] {
			if !seen[r.ID] { // what comes from a journal can be a circle
				seen[r.ID] = true
				all = append(all, r)
				add(r.ID)
			}
		}
	}
	add("")
	return all
}

// panel draws the Runs in so many lines. If there are more, those that are at work come before those
// that are over.
func (t *transcript) panel(width, height int) []paint.Line {
	lines := []paint.Line{paint.Text("RUNS", paint.Bold)}
	runs := t.tree()
	if len(runs) > height-1 {
		runs = t.atWork(runs, max(height-2, 1))
	}
	for _, r := range runs {
		lines = append(lines, t.runLine(r, width))
	}
	if rest := len(t.runs) - len(runs); rest > 0 {
		lines = append(lines, paint.Text(fmt.Sprintf("+%d more (Ctrl-T)", rest), paint.Quiet))
	}
	return lines[:min(len(lines), height)]
}

// atWork chooses so many Runs, in their order: those that are not over, then the newest.
func (t *transcript) atWork(runs []narrate.Run, most int) (some []narrate.Run) {
	chosen := make(map[string]bool)
	for _, wanted := range []bool{false, true} { // over, or not
		for i := len(runs) - 1; i >= 0 && len(chosen) < most; i-- {
			if runs[i].Phase.IsOver() == wanted {
				chosen[runs[i].ID] = true
			}
		}
	}
	for _, r := range runs {
		if chosen[r.ID] {
			some = append(some, r)
		}
	}
	return some
}

// runLine draws one Run: its state, its Expert, and how far it is.
func (t *transcript) runLine(r narrate.Run, width int) paint.Line {
	indent := min(r.Depth*2, maxIndent)
	name := t.p.cleanLine(r.Expert)
	if name == "" {
		name = t.p.cleanLine(t.expert)
	}
	left := paint.Join(paint.Text(strings.Repeat(" ", indent), 0), t.p.phaseMark(r.Phase), paint.Text(" "+name, 0))
	tail := t.far(r)
	for len(tail) > 1 && paint.Width(left)+1+len(strings.Join(tail, "  ")) > width {
		tail = tail[1:]
	}
	text := strings.Join(tail, "  ")
	return paint.Cut(paint.Join(paint.Fit(left, max(width-len(text)-1, 8)), paint.Text(" "+text, paint.Quiet)), width)
}

// far says how far a Run is: one at work its step and time, one that is over its tokens.
func (t *transcript) far(r narrate.Run) (parts []string) {
	if n := r.Tokens.Input + r.Tokens.Output; r.Phase.IsOver() && n > 0 {
		parts = append(parts, wording.Short(n)+" tok")
	} else {
		if r.Step > 0 {
			parts = append(parts, fmt.Sprintf("step %d", r.Step))
		}
		if since := t.p.opts.Clock().UnixMilli() - r.Began; r.Began > 0 && since >= 0 && !r.Phase.IsOver() && t.p.chat != nil && t.p.chat.work != nil {
			parts = append(parts, brief(time.Duration(since)*time.Millisecond))
		}
	}
	if r.Cost > 0 {
		parts = append(parts, wording.Cost(r.Cost))
	}
	return parts
}

// brief is a duration that changes once a second.
func brief(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// phaseMark shows what a Run is doing.
func (p *program) phaseMark(phase narrate.Phase) paint.Line {
	switch phase {
	case narrate.Completed:
		return paint.Text(p.palette.Mark("✓", "+"), paint.Green)
	case narrate.Broken:
		return paint.Text(p.palette.Mark("✗", "x"), paint.Red|paint.Bold)
	case narrate.Halted:
		return paint.Text("!", paint.Magenta|paint.Bold)
	case narrate.ForUser:
		return paint.Text("?", paint.Magenta|paint.Bold)
	case narrate.Delegating:
		return paint.Text("v", paint.Cyan)
	}
	return paint.Text(">", paint.Cyan)
}

// A runs screen is the panel on a screen of its own.
type runs struct {
	c    *chat
	top  int
	page int
}

func newRuns(c *chat) *runs { return &runs{c: c} }

func (r *runs) title() string { return "runs" }

func (r *runs) render(width, height int) view {
	all := r.c.transcript.tree()
	r.page = height
	r.top = max(min(r.top, len(all)-height), 0)
	v := view{}
	for _, run := range all[r.top:min(r.top+height, len(all))] {
		line := r.c.transcript.runLine(run, width-1)
		v.lines = append(v.lines, paint.Join(paint.Text(" ", 0), line))
	}
	if len(all) == 0 {
		v.lines = []paint.Line{paint.Text(" nothing has run yet", paint.Quiet)}
	}
	return v
}

func (r *runs) key(k key) (tea.Cmd, bool) {
	switch k.name {
	case "up":
		r.top--
	case "down":
		r.top++
	case "pgup":
		r.top -= r.page
	case "pgdown":
		r.top += r.page
	case "home":
		r.top = 0
	case "end":
		r.top = len(r.c.transcript.runs)
	default:
		return nil, false
	}
	r.top = max(r.top, 0)
	return nil, true
}

func (r *runs) actions() []action {
	return []action{
		{text: "Close", keys: []string{"esc", "ctrl+t"}, hint: "back", do: r.c.p.pop},
		{text: "Scroll", keys: []string{"up", "down", "pgup", "pgdown", "home", "end"}},
	}
}
