package lines

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/wording"
)

const (
	maxLive = 10 // lines of the region
	maxRuns = 3  // of which something is shown
)

// A span is text in one colour; a list of spans is a line of the region.
type span struct {
	text   string
	colour colour
}

// frame returns the lines of the region. Each fits into the terminal, and all of them take half of it
// at most. The last column stays free: some terminals begin a new row as soon as it is used.
func (l *Live) frame(columns, rows int) []string {
	most, space := max(min(maxLive, rows/2), 1), max(columns-1, 1)
	var drawn []string
	for _, line := range append(l.busy(space, most-1), l.status(space)) {
		drawn = append(drawn, l.draw(line, space))
	}
	return drawn
}

func (l *Live) draw(line []span, space int) string {
	var out strings.Builder
	for _, s := range line {
		var text string
		text, space = columns.Clip(s.text, space)
		out.WriteString(l.printer.paint(s.colour, text))
		if text != s.text {
			break
		}
	}
	return out.String()
}

// safe makes text from outside fit for a line of the region. A terminal that does not know UTF-8 draws
// each byte, which would be too wide.
func (l *Live) safe(text string) string {
	text = flat(l.printer.hide(text))
	if !l.opts.ASCII {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, text)
}

// busy returns what is being written and what is running, in at most so many lines.
func (l *Live) busy(space, most int) (all [][]span) {
	if l.image != nil && most > 0 {
		all, most = append(all, l.bar()), most-1
	}
	var runs []*liveRun
	for _, r := range l.runs {
		if r.stream != nil || len(r.running) > 0 {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 || most < 1 {
		return all
	}
	shown := runs[:min(len(runs), maxRuns, most)]
	if len(shown) < len(runs) {
		most--
		shown = shown[:min(len(shown), most)]
	}
	for _, r := range shown {
		share := most / len(shown)
		if len(runs) > 1 && share == 1 {
			all = append(all, l.title(r, space))
			continue
		}
		if len(runs) > 1 {
			all, share = append(all, l.title(r, space)), share-1
		}
		if r.stream != nil {
			all = append(all, l.writing(r.stream, space, share)...)
		} else {
			all = append(all, l.running(r.running, space, share)...)
		}
	}
	if n := len(runs) - len(shown); n > 0 {
		all = append(all, []span{{fmt.Sprintf("+%d more", n), dim}})
	}
	return all
}

// title names a Run, and what it is doing.
func (l *Live) title(r *liveRun, space int) []span {
	name := columns.Shorten(l.safe(r.status.Expert), max(space/2, least))
	return []span{{name, bold}, {"  " + l.doing(&r.status), dim}}
}

// writing returns the end of a text.
func (l *Live) writing(s *stream, space, most int) (all [][]span) {
	for _, line := range s.tail(max(space, markdown.MinWidth), most, l.opts.ASCII) {
		var spans []span
		for _, part := range line {
			c := styleColour(part.Style)
			if s.kind == narrate.Reasoning {
				c = dim
			}
			spans = append(spans, span{l.safe(part.Text), c})
		}
		all = append(all, spans)
	}
	return all
}

// running returns the calls that are running, each with the newest thing that it reported if there is
// space.
func (l *Live) running(rows []narrate.Row, space, most int) (all [][]span) {
	more := len(rows) - most
	if more > 0 {
		more++ // the last line counts them
		rows = rows[:most-1]
	}
	tails := most - len(rows)
	for _, r := range rows {
		all = append(all, l.call(r, space))
		if r.Tail != "" && tails > 0 && more <= 0 {
			tails--
			all = append(all, []span{{"  └ " + l.safe(r.Tail), dim}})
		}
	}
	if more > 0 {
		all = append(all, []span{{fmt.Sprintf("+%d more running", more), dim}})
	}
	return all
}

// call is the line of a call: like the row that follows it, with the time that has passed.
func (l *Live) call(r narrate.Row, space int) []span {
	label, text := r.Label, r.Summary
	switch {
	case r.Kind == narrate.Skill:
		label, text = "Skill", r.Summary+" "+l.printer.command(r)
	case r.Argv != nil:
		text = l.printer.command(r)
	}
	label = pad(l.safe(label))
	clock := "  " + clockText(l.now()-r.Began)
	text, _ = columns.Clip(strings.TrimSpace(l.safe(text)), max(space-4-columns.Of(label)-len(clock), least)) // the mark can be wide
	return []span{{"○ ", plain}, {label + " ", bold}, {text, dim}, {clock, dim}}
}

const barColumns = 20

// bar shows how much of the image is made.
func (l *Live) bar() []span {
	text := "… image "
	if r := l.image; r.Progress != nil {
		part := 0.0
		if v := *r.Progress; v > 0 { // written so that NaN counts as nothing
			part = min(v, 1)
		}
		full := int(part * barColumns)
		text += fmt.Sprintf("[%s%s] %3d%% ", strings.Repeat("#", full), strings.Repeat("-", barColumns-full), int(part*100))
	}
	return []span{{text + l.safe(l.image.Tail), dim}}
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// status is the last line: what perstack does or waits for, and what the job has used.
func (l *Live) status(space int) []span {
	line := []span{{string(spinner[l.turn%len(spinner)]) + " ", cyan}, {l.phase(), plain}}
	space -= 2 + columns.Of(line[1].text)
	for _, part := range l.used() {
		if text := " · " + part; columns.Of(text)+1 <= space { // some terminals draw the dot in two columns
			line = append(line, span{text, dim})
			space -= columns.Of(text) + 1
		}
	}
	return line
}

// used returns what the job has used, and its limits.
func (l *Live) used() (parts []string) {
	t := &l.totals
	if t.Steps > 0 {
		text := fmt.Sprintf("step %d", t.Steps)
		if t.MaxSteps > 0 {
			text += fmt.Sprintf("/%d", t.MaxSteps)
		}
		parts = append(parts, text)
	}
	if n := t.Tokens.Input + t.Tokens.Output; n > 0 {
		parts = append(parts, wording.Short(n)+" tok")
	}
	if t.Cost > 0 || t.MaxCost > 0 {
		text := wording.Cost(t.Cost)
		if t.MaxCost > 0 {
			text += "/" + wording.Budget(t.MaxCost)
		}
		parts = append(parts, text)
	}
	return parts
}

// phase says what the job is doing.
func (l *Live) phase() string {
	var active []*liveRun
	for _, r := range l.runs {
		if r.status.Phase != "" && r.status.Phase != narrate.Delegating {
			active = append(active, r)
		}
	}
	switch {
	case l.stopping():
		return "stopping"
	case l.image != nil:
		return "preparing the image " + clockText(l.now()-l.began)
	case len(active) > 1:
		return fmt.Sprintf("%s at work %s", wording.Count(len(active), "Expert"), clockText(l.now()-l.totals.Began))
	case len(active) == 1:
		if s := &active[0].status; s.Depth > 0 {
			return l.safe(s.Expert) + ": " + l.doing(s)
		}
		return l.doing(&active[0].status)
	case len(l.runs) > 0 && l.runs[0].status.Phase != "":
		return l.doing(&l.runs[0].status)
	case l.totals.Began > 0:
		return "finishing"
	}
	return "starting " + clockText(l.now()-l.began)
}

// doing says what a Run is doing, and for how long.
func (l *Live) doing(s *narrate.Run) string {
	words := string(s.Phase)
	if s.What != "" && s.What != narrate.RunLabel {
		words += " " + l.safe(s.What)
	}
	if s.Phase == narrate.Retrying && s.Until > l.now() {
		return words + " in " + clockText(s.Until-l.now()+int64(time.Second/time.Millisecond)-1)
	}
	return words + " " + clockText(l.now()-s.Since)
}

func (l *Live) now() int64 { return l.opts.Now().UnixMilli() }

// shortID is how many characters of a long id name a job on the first line.
const shortID = 6

// head prints the line above everything: who runs, on what, and the job.
func (l *Live) head(b event.InitializeRuntime, jobID string) {
	if len(jobID) > 2*shortID {
		jobID = jobID[:shortID]
	}
	p := l.printer
	var parts []string
	for _, part := range []string{b.ExpertName, b.Model, l.opts.Sandbox, "job " + jobID} {
		if part != "" {
			parts = append(parts, p.hide(part))
		}
	}
	for _, line := range p.wrapped(strings.Join(parts, " · "), 0) {
		l.printed.WriteString(p.paint(bold, line) + "\n")
	}
}
