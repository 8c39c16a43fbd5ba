package progress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// This file shows the servers of skills. One that starts gets a dim line, since it may
// take its time, and since a person may like to see what is run. Before that its package
// may have to be fetched, which takes longer still.
//
// What a server says itself is for those who asked for everything. Notes about fetching
// come in the same events, but before the server is started, when it cannot say anything.

// A skillKey names the server of a skill: parallel Runs may have skills of one name.
type skillKey struct{ run, skill string }

// skill prints what e says about the start of a server.
func (p *Printer) skill(e event.Event) {
	if p.opts.Verbose {
		return // it has rows of its own
	}
	switch b := e.Body.(type) {
	case event.SkillStarting:
		p.servers[skillKey{e.RunID, b.SkillName}] = true
		p.title(p.enter(e.RunID), "… skill "+b.SkillName+": "+commandLine(b))
	case event.SkillStderr:
		if !p.servers[skillKey{e.RunID, b.SkillName}] {
			p.title(p.enter(e.RunID), "… skill "+b.SkillName+": "+b.Message)
		}
	}
}

func commandLine(b event.SkillStarting) string {
	return strings.Join(append([]string{b.Command}, b.Args...), " ")
}

// ready says how a server calls itself and how long its start took.
func ready(b event.SkillConnected) string {
	var words []string
	if info := b.ServerInfo; info != nil {
		words = append(words, cmp.Or(strings.TrimSpace(info.Name+" "+info.Version), "a server without a name"))
	}
	if b.TotalDurationMS != nil {
		words = append(words, fmt.Sprintf("%d ms", *b.TotalDurationMS))
	}
	return strings.Join(words, ", ")
}
