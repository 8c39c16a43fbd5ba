package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/internal/tui/mention"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A chat is the screen of a conversation: the transcript of a job, what it asks, and the input.
type chat struct {
	p          *program
	expert     string
	jobID      string // empty until the job has begun
	prefix     string // of the job, as the history writes it
	doubt      string // why what is recorded may not be true; empty if nothing is wrong
	transcript *transcript
	work       *work   // what is under way; nil if nothing is
	branch     *branch // where the next message continues; nil for the end
	watching   bool    // a timer of watch runs
	known      int     // steps of the job when it was read again last

	input     edit.Editor
	recalled  bool // the earlier inputs were asked for
	menu      mention.Menu
	paths     pathsState
	queue     []queued
	warned    string       // the message that would drop a call, which the user was told
	asks      []*askBox    // the first one is shown
	asked     *askBox      // that was the first one last
	answering bool         // the input is the answer to a question of an Expert
	finding   *edit.Editor // what is searched for in the transcript; nil if nothing is
	found     bool         // n and N move to other matches
}

func newChat(p *program, expert string) *chat {
	return &chat{p: p, expert: expert, transcript: newTranscript(p, expert)}
}

func (c *chat) title() string { return c.expert }

// start does what the command line says: it shows a job, sends a message, or both.
func (c *chat) start(jobID, query string) tea.Cmd {
	switch {
	case query != "" && jobID == "":
		return tea.Batch(c.send(edit.Message{Text: query}), c.remember(query))
	case jobID != "":
		if query != "" { // sent when the job was read
			if err := c.input.SetText(query); err != nil {
				c.p.fail(err)
				return nil
			}
			draft := c.input.Draft()
			c.queue = append(c.queue, queued{c.input.Take(), draft})
		}
		return c.p.work(func(ctx context.Context) func() tea.Cmd {
			j := Job{ID: jobID, Expert: c.expert}
			all, err := c.p.opts.Project.Jobs(ctx, 0)
			for _, other := range all {
				if other.ID == jobID {
					j = other
				}
			}
			return func() tea.Cmd {
				c.report(err)
				if c.p.chat != c { // the user has opened another conversation
					return nil
				}
				return c.read(j)
			}
		})
	}
	return nil
}

// opened asks for the inputs of earlier conversations, once.
func (c *chat) opened() tea.Cmd {
	if c.recalled {
		return nil
	}
	c.recalled = true
	return c.p.work(func(ctx context.Context) func() tea.Cmd {
		inputs, err := c.p.opts.Project.Inputs(ctx)
		return func() tea.Cmd {
			c.report(err)
			c.input.SetHistory(inputs)
			return nil
		}
	})
}

func (c *chat) key(k key) (tea.Cmd, bool) {
	if a := c.current(); a != nil && !a.isQuestion() {
		switch {
		case a.focused && (k.name == "f1" || strings.HasPrefix(k.name, "ctrl+") && a.reason == nil): // they answer nothing
			a.chosen = nil
			return nil, false
		case a.focused:
			return a.key(k), true
		case k.name == "tab" && !c.menu.IsOpen():
			a.focus()
			return nil, true
		}
	}
	if c.finding != nil || c.found {
		if cmd, taken := c.findKey(k); taken {
			return cmd, true
		}
	}
	if c.isFollowing() {
		return nil, c.transcript.pager.Key(k.name)
	}
	return c.inputKey(k)
}

// inputKey takes in a key that is about the input, or else about the transcript.
func (c *chat) inputKey(k key) (tea.Cmd, bool) {
	if !c.input.Searching() {
		if choice, taken := c.menu.Key(k.name); taken {
			if choice.Text != "" {
				return c.choose(choice), true
			}
			return nil, true
		}
	}
	pager := &c.transcript.pager
	row, selected := pager.Selected()
	switch {
	case k.text != "":
		return c.typed(k.text), true
	case c.input.Searching() && c.input.Key(k.name):
		return nil, true
	case k.name == "tab" && c.isAsked():
		c.answering = !c.answering
		return nil, true
	case k.name == "enter" && selected && c.input.IsEmpty():
		if r, ok := c.transcript.rows[row]; ok {
			return c.p.push(newDetail(c.p, c.jobID, r)), true
		}
		return nil, true
	case k.name == "enter":
		return c.submit(), true
	case k.name == "esc":
		return nil, c.escape()
	case (k.name == "home" || k.name == "end") && c.input.IsEmpty(), k.name == "ctrl+c":
	case c.input.Key(k.name):
		return c.complete(), true
	}
	return nil, pager.Key(k.name)
}

// escape undoes the last thing that can be undone.
func (c *chat) escape() bool {
	switch _, selected := c.transcript.pager.Selected(); {
	case selected:
		c.transcript.pager.Deselect()
	case c.unqueue():
	case c.branch != nil:
		c.branch = nil
	default:
		return false
	}
	return true
}

// find opens the search in the transcript.
func (c *chat) find() tea.Cmd {
	c.finding, c.found = &edit.Editor{}, false
	return nil
}

// findKey takes in a key while the transcript is searched.
func (c *chat) findKey(k key) (tea.Cmd, bool) {
	pager := &c.transcript.pager
	switch {
	case k.name == "esc":
		c.finding, c.found = nil, false
		pager.Find("")
	case c.finding != nil && k.name == "enter":
		query := c.finding.Message().Text
		c.finding = nil
		if c.found = pager.Find(query); !c.found {
			c.p.say("%q is not in the transcript", query)
		}
	case c.finding != nil && k.text != "":
		c.report(c.finding.Insert(k.text))
	case c.finding != nil && k.name != "ctrl+c":
		c.finding.Key(k.name)
	case c.finding == nil && (k.text == "n" || k.name == "enter"):
		pager.Next()
	case c.finding == nil && k.text == "N":
		pager.Previous()
	case k.text != "": // the user writes again
		c.found = false
		pager.Find("")
		return nil, false
	default:
		return nil, false
	}
	return nil, true
}

// copyRow copies the selected row, or the last answer.
func (c *chat) copyRow() tea.Cmd {
	if id, ok := c.transcript.pager.Selected(); ok {
		if r, ok := c.transcript.rows[id]; ok {
			return c.p.copy(rowText(r))
		}
	}
	c.p.say("select a row with Ctrl-Up first")
	return nil
}

func (c *chat) actions() []action {
	if c.isFollowing() {
		return append([]action{{text: "Branch: continue from the newest checkpoint", keys: []string{"f"}, hint: "branch", do: c.branchOff}}, c.reading()...)
	}
	writing := []action{
		{text: "Send the message; while the job runs, queue it", keys: []string{"enter"}},
		{text: "New line", keys: []string{"alt+enter", "shift+enter", "ctrl+j"}},
		{text: "Earlier and later inputs", keys: []string{"up", "down"}},
		{text: "Search earlier inputs", keys: []string{"ctrl+r"}, do: func() tea.Cmd { c.input.Search(); return nil }},
		{text: "Take a queued message back, or undo a selection", keys: []string{"esc"}},
		{text: "Answer what the job asks", keys: []string{"tab"}},
		{text: "Mention a file; attach an image or a PDF", keys: []string{"@"}},
	}
	return append(writing, c.reading()...)
}

// reading are the actions that need no input.
func (c *chat) reading() []action {
	return []action{
		{text: "Scroll by a page", keys: []string{"pgup", "pgdown"}},
		{text: "Scroll by a line", keys: []string{"shift+up", "shift+down"}},
		{text: "Beginning and end of the transcript, if the input is empty", keys: []string{"home", "end"}},
		{text: "Select a row; Enter shows all of it", keys: []string{"ctrl+up", "ctrl+down"}},
		{text: "Search the transcript; n and N for other matches", keys: []string{"ctrl+f"}, do: c.find},
		{text: "Copy the selected row", keys: []string{"alt+c"}, do: c.copyRow},
		{text: "Show all runs", keys: []string{"ctrl+t"}, do: func() tea.Cmd { return c.p.push(newRuns(c)) }},
		{text: "History of the project", keys: []string{"ctrl+o"}, do: func() tea.Cmd { return c.p.push(newHistory(c.p)) }},
		{text: "Checkpoints of this job", do: c.checkpoints},
		{text: "Choose another Expert", do: func() tea.Cmd { return c.p.push(newExperts(c.p)) }},
		{text: "New conversation with this Expert", do: func() tea.Cmd { return c.p.openExpert(c.expert) }},
	}
}

// checkpoints shows those of the job, to branch from one.
func (c *chat) checkpoints() tea.Cmd {
	if c.jobID == "" {
		c.p.say("the job has not begun")
		return nil
	}
	return c.p.push(newCheckpoints(c.p, Job{ID: c.jobID, Prefix: c.prefix, Expert: c.expert, Running: c.work != nil}))
}

func (c *chat) render(width, height int) view {
	bottom, x, y, cursor := c.bottom(width, height)
	space := max(height-len(bottom), 1)
	lines := c.upper(width, space)
	for len(lines) < space {
		lines = append(lines, nil)
	}
	v := view{lines: append(lines, bottom...), cursor: cursor, x: min(x, width-1), y: space + y}
	return v
}

// upper draws the transcript, and the panel beside it.
func (c *chat) upper(width, height int) []paint.Line {
	side := panelWidth(width)
	if side == 0 || len(c.transcript.runs) == 0 {
		return c.transcript.pager.Render(width, height, c.p.palette)
	}
	left := c.transcript.pager.Render(width-side-1, height, c.p.palette)
	right := c.transcript.panel(side-2, height)
	lines := make([]paint.Line, height)
	edge := paint.Text(c.p.palette.Mark("│ ", "| "), paint.Quiet)
	for i := range lines {
		var l, r paint.Line
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		lines[i] = paint.Join(paint.Fit(l, width-side), edge, r)
	}
	return lines
}

const inputRows = 6 // at most

// bottom draws what is below the transcript: a question, queued messages, paths, and the input.
func (c *chat) bottom(width, height int) (lines []paint.Line, x, y int, cursor bool) {
	if !c.transcript.pager.Following() {
		_, last, of := c.transcript.pager.Position()
		if below := of - last; below > 0 {
			lines = append(lines, paint.Cut(paint.Text(" ... more below (End)", paint.Quiet), width))
		}
	}
	a := c.current()
	if a != nil {
		var box []paint.Line
		box, x, y = a.render(width, max(height-4, 3))
		y += len(lines)
		lines = append(lines, box...)
	}
	if a != nil && a.focused && !a.isQuestion() {
		return lines, x, y, true
	}
	for _, q := range c.queue {
		lines = append(lines, paint.Cut(paint.Text(" queued: "+c.p.cleanLine(q.message.Text), paint.Quiet), width))
	}
	if c.isFollowing() {
		text := " read-only: it runs elsewhere; f branches"
		return append(lines, paint.Cut(paint.Text(text, paint.Bold), width)), 0, 0, false
	}
	if c.menu.IsOpen() && !c.input.Searching() {
		lines = append(lines, c.menu.Render(width, c.p.palette))
	}
	editor, label := &c.input, " > "
	switch {
	case c.finding != nil:
		editor, label = c.finding, " search: "
	case c.found:
		lines = append(lines, paint.Cut(paint.Text(" n next  N previous  Esc ends the search", paint.Bold), width))
	case c.answering:
		label = " answer > "
	}
	in := editor.Render(width-len(label), min(inputRows, max(height/4, 1)))
	x, y = len(label)+in.X, len(lines)+in.Y
	for i, line := range in.Lines {
		lead := paint.Fit(paint.Text(label, paint.Cyan|paint.Bold), len(label))
		if i > 0 {
			lead = paint.Fit(nil, len(label))
		}
		lines = append(lines, paint.Join(lead, line))
	}
	return lines, x, y, true
}
