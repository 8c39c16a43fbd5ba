package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// An action is something that the user can do. Help lists all of them, and the palette those that can
// be chosen.
type action struct {
	text string   // what it does, as in "Search the transcript"
	keys []string // as the terminal library names them; the first one is shown
	hint string   // a word or two for the status line; empty if it is not shown there
	do   func() tea.Cmd
	// A screen that handles the keys itself leaves do nil: then help alone lists the action.
}

// common are the actions that every screen has.
func (p *program) common() []action {
	return []action{
		{"All actions", []string{"ctrl+p"}, "actions", func() tea.Cmd { return p.push(newPalette(p)) }},
		{"Help: all keys", []string{"f1"}, "help", func() tea.Cmd { return p.push(newHelp(p)) }},
		{"Suspend the program; fg continues it", []string{"ctrl+z"}, "", func() tea.Cmd { return tea.Suspend }},
		{"Switch the mouse on or off: off, the terminal selects text", []string{"ctrl+g"}, "", p.toggleMouse},
		{"Stop the job; without one, clear the input; again: quit", []string{"ctrl+c"}, "", p.interrupt},
	}
}

// available are the actions of the topmost screen, then those of the program.
func (p *program) available() []action { return slices.Concat(p.top().actions(), p.common()) }

// act does the action of a key.
func (p *program) act(name string) (tea.Cmd, bool) {
	for _, a := range p.available() {
		if a.do != nil && slices.Contains(a.keys, name) {
			return a.do(), true
		}
	}
	return nil, false
}

// keyLabel is how a key is written for people: "Ctrl-P".
func keyLabel(name string) string {
	parts := strings.Split(name, "+")
	for i, part := range parts {
		switch part {
		case "pgup":
			part = "PgUp"
		case "pgdown":
			part = "PgDn"
		case "":
			part = "+"
		default:
			if len(parts) > 1 || len(part) > 1 {
				part = strings.ToUpper(part[:1]) + part[1:]
			}
		}
		parts[i] = part
	}
	return strings.Join(parts, "-")
}
