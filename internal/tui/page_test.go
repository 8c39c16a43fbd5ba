package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// TestPage compares the screens and the keys of docs/start.md with those of the program.
func TestPage(t *testing.T) {
	shown := map[string]func(d *driver){
		"experts":     func(d *driver) { d.replace(newExperts(d.p)) },
		"history":     func(d *driver) { d.replace(newHistory(d.p)); d.press("down") },
		"checkpoints": func(d *driver) { d.replace(newHistory(d.p)); d.press("down", "c"); d.settle() },
		"detail": func(d *driver) {
			row := callRow()
			row.Output = "ok   example/a  0.4s\nFAIL example/b  0.2s"
			d.replace(newDetail(d.p, "k2m9aaaaa", row))
		},
	}
	for name, open := range shown {
		d := drive(t, page(), 80, 24, func(o *Options) { o.Palette = paint.Palette{Unicode: true} })
		open(d)
		testkit.PageBlock(t, "../../docs/start.md", "./internal/tui", name, "```\n"+shorten(d.screen())+"\n```\n")
	}
	for name, ask := range map[string]bool{"conversation": false, "approval": true} {
		d, s := chatting(t, 80, 16, func(o *Options) { o.Palette = paint.Palette{Unicode: true} })
		d.play(s, tripEvents(t)...)
		if ask {
			d.focused(s, approvalRequest())
		} else {
			d.enter("compare prices @no")
			d.settle()
		}
		testkit.PageBlock(t, "../../docs/start.md", "./internal/tui", name, "```\n"+shorten(d.screen())+"\n```\n")
	}
	testkit.PageBlock(t, "../../docs/start.md", "./internal/tui", "keys", keyTable(t))
}

// page is the project of the page, in words that every reader knows.
func page() *fakeProject {
	f := trip()
	f.experts = slices.Delete(f.experts, 2, 3)
	f.jobs[2].Expert, f.jobs[2].Query = "writer", "Write to Ann about the launch"
	f.jobs[3].Query = "Summarise notes.txt"
	return f
}

// shorten leaves one of the empty lines above the status line.
func shorten(screen string) string {
	lines := strings.Split(screen, "\n")
	last := len(lines) - 1
	for last >= 2 && lines[last-1] == "" && lines[last-2] == "" {
		lines = slices.Delete(lines, last-1, last)
		last--
	}
	return strings.Join(lines, "\n")
}

// keyTable lists the actions of all screens.
func keyTable(t *testing.T) string {
	var out strings.Builder
	out.WriteString("| where | keys | what |\n|---|---|---|\n")
	write := func(where string, all []action) {
		for _, a := range all {
			labels := make([]string, len(a.keys))
			for i, k := range a.keys {
				labels[i] = "`" + keyLabel(k) + "`"
			}
			switch {
			case len(labels) > 0:
			case a.do != nil:
				labels = []string{"`Ctrl-P` and its name"}
			default:
				labels = []string{"letters"}
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", where, strings.Join(labels, ", "), a.text)
		}
	}
	d := drive(t, page(), 80, 24)
	write("everywhere", d.p.common())
	for _, s := range []struct {
		where string
		open  func()
	}{
		{"Experts", func() { d.replace(newExperts(d.p)) }},
		{"history", func() { d.replace(newHistory(d.p)) }},
		{"checkpoints", func() { d.press("c"); d.settle() }},
		{"events", func() { d.press("e"); d.settle() }},
		{"detail, diff, record", func() {
			d.replace(newDetail(d.p, "x", callRow()))
			d.press("/")
			d.enter("a")
			d.press("enter")
		}},
		{"conversation", func() { d.start(d.p.openExpert("lead")); d.settle() }},
	} {
		s.open()
		write(s.where, d.p.top().actions())
	}
	return out.String()
}
