package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/wording"
)

// An askBox shows what a job asks, above the input. These things keep a stray key from being an answer:
// no key counts before Tab was pressed, Tab counts only when the question was on the screen for a
// while, and an answer that allows something must come alone, with a pause around it, after all of
// the question was shown. Another question takes no key of the one before.
type askBox struct {
	c     *chat
	ask   *ask
	title string
	rows  []approval.Row
	offer []offer

	drawn         time.Time // when it was first on the screen; zero before
	focused       bool
	width, height int // for which it is laid out
	lines         []paint.Line
	top           int          // the first line that is visible
	page          int          // how many are
	seen          bool         // all of them were visible
	reason        *edit.Editor // the user writes why not; nil otherwise
	chosen        *reply       // an answer, if no other key follows at once
}

// An offer is an answer that allows something.
type offer struct {
	key, text string
	reply     reply
}

const (
	// readingTime is how long a question must be on the screen before Tab counts.
	readingTime = 300 * time.Millisecond
	// keyPause is how long nothing else must be typed before and after a key that allows, and before Tab.
	// Pasted text can arrive as keys, and a person who writes a message can press Tab by accident.
	keyPause = 300 * time.Millisecond
)

func newAskBox(c *chat, a *ask) *askBox {
	b := &askBox{c: c, ask: a}
	switch about := a.request.Approval; {
	case a.confirm != "":
		b.title = "Continue?"
		for line := range strings.SplitSeq(strings.Trim(c.p.clean(a.confirm), "\n"), "\n") {
			b.rows = append(b.rows, approval.Row{Text: line})
		}
		b.offer = []offer{{"y", "yes", reply{yes: true}}}
	case about != nil:
		v := approval.Render(about, c.p.opts.Redact)
		b.title, b.rows = v.Title, v.Rows()
		b.offer = offers(about)
	}
	return b
}

// offers are the answers that allow a call.
func offers(a *event.Approval) (all []offer) {
	for _, scope := range approval.Scopes(a) {
		o := offer{"y", "once", reply{answer: event.Answer{Allow: true, Scope: scope}}}
		switch {
		case scope == event.ScopeJob:
			o.key, o.text = "a", "this job"
		case scope == event.ScopeProject:
			o.key, o.text = "p", "this project"
		case a.Effect.Kind == event.PlanEffect:
			o.text = "accept"
		case a.Effect.Kind == event.PathEffect: // it is too late for the call that asked
			o.text = "this Run"
		}
		all = append(all, o)
	}
	return all
}

// isQuestion reports whether an Expert asks, which is answered by typing.
func (b *askBox) isQuestion() bool { return b.ask.confirm == "" && b.ask.request.Approval == nil }

// isRead reports whether the user can have read the question.
func (b *askBox) isRead() bool {
	return !b.drawn.IsZero() && b.c.p.opts.Clock().Sub(b.drawn) >= readingTime
}

// current is the question that is shown; nil if there is none.
func (c *chat) current() *askBox {
	if len(c.asks) == 0 {
		return nil
	}
	return c.asks[0]
}

// nextAsk says whose answer the input is, after the first question has become another. What the user is
// writing was not meant for it.
func (c *chat) nextAsk() {
	a := c.current()
	if a == c.asked {
		return
	}
	c.asked = a
	c.answering = a != nil && a.isQuestion() && c.input.IsEmpty()
}

// isAsked reports whether an Expert waits for an answer that is typed.
func (c *chat) isAsked() bool {
	if a := c.current(); a != nil {
		return a.isQuestion()
	}
	return c.work == nil && c.transcript.isAsked()
}

// answer gives the answer to the job.
func (c *chat) answer(b *askBox, r reply) {
	b.ask.reply <- r
	c.asks = slices.DeleteFunc(c.asks, func(a *askBox) bool { return a == b })
	c.nextAsk()
}

// A choice says that a moment has passed since a key that allows something.
type choice struct {
	box   *askBox
	reply *reply
}

// key takes in a key while the question is focused.
func (b *askBox) key(k key) tea.Cmd {
	b.chosen = nil
	if b.reason != nil {
		return b.reasonKey(k)
	}
	switch k.name {
	case "tab", "esc":
		b.focused = false
	case "up":
		b.scroll(-1)
	case "down":
		b.scroll(1)
	case "pgup":
		b.scroll(-b.page)
	case "pgdown", "space":
		b.scroll(b.page)
	case "n":
		b.reason = &edit.Editor{}
		if b.ask.confirm != "" {
			b.c.answer(b, reply{})
		}
	case "d":
		return b.c.p.push(newAskDetail(b))
	default:
		i := slices.IndexFunc(b.offer, func(o offer) bool { return o.key == k.name })
		switch {
		case i < 0:
		case !b.c.p.isAlone(k):
		case !b.seen:
			b.c.p.say("read to the end first: Down shows more, d shows all")
		default:
			b.chosen = &b.offer[i].reply
			return b.c.p.after(keyPause, choice{b, b.chosen})
		}
	}
	return nil
}

// settle answers, if no key came after the one that allows.
func (c *chat) settle(m choice) {
	if b := c.current(); b == m.box && b.focused && b.chosen == m.reply {
		c.answer(b, *m.reply)
	}
}

// reasonKey takes in a key while the user writes why a call is denied.
func (b *askBox) reasonKey(k key) tea.Cmd {
	switch {
	case k.name == "enter":
		b.c.answer(b, reply{answer: event.Answer{Reason: strings.TrimSpace(b.reason.Message().Text)}})
	case k.name == "esc":
		b.reason = nil
	case k.text != "":
		b.c.report(b.reason.Insert(k.text))
	default:
		b.reason.Key(k.name)
	}
	return nil
}

// paste takes in pasted text, which never allows anything.
func (b *askBox) paste(text string) {
	b.chosen = nil
	if b.reason != nil {
		b.c.report(b.reason.Insert(text))
	}
}

func (b *askBox) scroll(by int) { b.top = max(min(b.top+by, len(b.lines)-b.page), 0) }

// isKey reports whether a text is one of the keys that answer the question.
func (b *askBox) isKey(text string) bool {
	return text == "n" || slices.ContainsFunc(b.offer, func(o offer) bool { return o.key == text })
}

// focus makes keys count, if the question can have been read.
func (b *askBox) focus() {
	k := key{name: "tab"}
	b.focused = b.wasRead(k) && b.c.p.isAlone(k)
}

// wasRead is isRead for a key that is about the question. It tells the user if the key came too soon.
func (b *askBox) wasRead(k key) bool {
	if !b.isRead() {
		b.c.p.say("that was too soon after the question: press %s again", keyLabel(k.name))
		return false
	}
	return true
}

// render draws the question in at most height lines. The last return values are where the cursor is.
func (b *askBox) render(width, height int) (lines []paint.Line, x, y int) {
	if b.drawn.IsZero() {
		b.drawn = b.c.p.opts.Clock()
	}
	if b.isQuestion() {
		return b.question(width), 0, 0
	}
	if !b.focused {
		return b.short(width, height), 0, 0
	}
	space := max(height-1, 1) // the title and the keys; there is no input below
	if b.width != width || b.height != space {
		b.width, b.height, b.top, b.seen = width, space, 0, false
		b.lines = b.layout(width)
	}
	b.page = min(space, len(b.lines))
	b.seen = b.seen || b.top+b.page >= len(b.lines)
	lines = append(lines, paint.Cut(paint.Text("-- "+b.title+b.count(), paint.Bold|paint.Magenta), width))
	lines = append(lines, b.lines[b.top:b.top+b.page]...)
	if b.reason != nil {
		const label = "   why not? "
		in := b.reason.Render(width-len(label), 1)
		line := paint.Join(paint.Text(label, paint.Bold), in.Lines[0])
		return append(lines, paint.Cut(line, width)), len(label) + in.X, len(lines)
	}
	return append(lines, b.keys(width)), 3, len(lines)
}

// count says how many questions wait.
func (b *askBox) count() string {
	if n := len(b.c.asks); n > 1 {
		return fmt.Sprintf(" (1 of %d)", n)
	}
	return ""
}

// keys names the keys that count.
func (b *askBox) keys(width int) paint.Line {
	var items []string
	if rest := len(b.lines) - b.top - b.page; rest > 0 {
		items = append(items, "Down "+wording.Count(rest, "more line"))
	}
	if b.seen {
		for _, o := range b.offer {
			items = append(items, o.key+" "+o.text)
		}
	}
	line := func() string { return "   " + strings.Join(items, "  ") }
	items = append(items, "n no", "d detail", "Esc back")
	for least := len(items) - 2; paint.TextWidth(line()) > width && len(items) > least; { // help has the others
		items = items[:len(items)-1]
	}
	if paint.TextWidth(line()) > width {
		for i := range items {
			items[i] = strings.Replace(items[i], " this ", " ", 1)
		}
	}
	return paint.Cut(paint.Text(line(), paint.Bold), width)
}

// short draws a question that is not focused.
func (b *askBox) short(width, height int) (lines []paint.Line) {
	p := b.c.p
	if b.ask.confirm != "" {
		lines = []paint.Line{paint.Text("-- "+b.title+b.count(), paint.Bold|paint.Magenta)}
		body := b.layout(width)
		if most := max(height-2, 0); len(body) > most {
			body = cutLines(body, max(most-1, 0))
		}
		lines = append(lines, body...)
	} else {
		text := "-- Approve?" + b.count() + " " + p.effect(b.ask.request.Approval)
		for i, part := range fold(text, width-3) {
			if i == max(height-1, 1) {
				break
			}
			if i > 0 {
				part = "   " + part // what stands at the edge is from perstack
			}
			lines = append(lines, paint.Text(part, paint.Bold|paint.Magenta))
		}
	}
	items := []string{"Tab to answer, then"}
	for _, o := range b.offer {
		items = append(items, o.key+" "+o.text)
	}
	keys := paint.Text("   "+strings.Join(append(items, "n no", "d detail"), "  "), 0)
	if paint.Width(keys) > width {
		keys = paint.Text("   Tab to answer", 0)
	}
	return append(lines, keys)
}

// place is a directory as seen from the workspace.
func (p *program) place(dir string) string {
	rest, err := filepath.Rel(p.opts.Workspace, dir)
	if dir == "" {
		return "."
	}
	if err != nil || p.opts.Workspace == "" || !filepath.IsLocal(rest) {
		return dir
	}
	return rest
}

// effect says on one line what a call would do. Nothing that cannot be seen is left out.
func (p *program) effect(a *event.Approval) string {
	show := func(text string) string { return terminal.ShowLine(p.opts.Redact(text)) }
	e := a.Effect
	text := show(a.Call.ToolName)
	switch e.Kind {
	case event.CommandEffect:
		text += "  " + p.command(e.Argv, "") + "  in " + show(p.place(e.Dir))
	case event.FileEffect, event.PathEffect:
		text += "  " + show(e.Path)
	case event.HostEffect:
		text += "  connect to " + show(e.Host)
	case event.PlanEffect:
		text = "this plan"
	default:
		text += "  " + show(string(a.Call.Args))
	}
	return text + "  rule: " + show(a.Rule)
}

// question says that an Expert asks. The transcript has what.
func (b *askBox) question(width int) []paint.Line {
	text := "-- " + b.c.p.cleanLine(b.ask.request.ExpertKey) + " asks" + b.count() + "; "
	if b.c.answering {
		text += "type the answer, Enter sends it"
	} else {
		text += "Tab to answer"
	}
	return []paint.Line{paint.Cut(paint.Text(text, paint.Bold|paint.Magenta), width)}
}

// layout breaks all of the question into lines. Nothing is cut. Only labels are at the left edge, so
// that no content can look like another section.
func (b *askBox) layout(width int) (lines []paint.Line) {
	for _, r := range b.rows {
		head, rest := r.Head, r.Rest
		if r.Text == "" {
			for _, part := range fold(head, max(width-4, 1)) {
				lines = append(lines, paint.Text("   "+part, paint.Bold))
			}
			continue
		}
		broken := columns.Break // everything can be seen
		if b.ask.confirm != "" {
			broken = fold
		}
		for i, part := range broken(r.Text, max(width-4-len(head), 1)) {
			lead := head
			if i > 0 {
				lead = rest
			}
			lines = append(lines, paint.Join(paint.Text("   "+lead, paint.Bold), paint.Text(part, 0)))
		}
	}
	return lines
}
