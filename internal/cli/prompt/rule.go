package prompt

import (
	"cmp"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
)

// rule says what is not asked about any more after an answer; "" if it was about one call.
func (q *question) rule(offer Offer) string {
	a, expert := q.about, ""
	var until string
	switch offer.Answer.Scope {
	case event.ScopeJob:
		until = "until this job ends"
	case event.ScopeProject:
		until = "in this project"
	case event.ScopeAlways:
		until = "in all projects"
	default:
		return ""
	}
	if len(a.Experts) > 0 {
		expert = a.Experts[len(a.Experts)-1]
	}
	var what string
	switch effect := a.Effect; effect.Kind {
	case event.CommandEffect:
		what = fmt.Sprintf("%s can run: %s", expert, cmp.Or(offer.Words, terminal.ShellJoin(effect.Argv...)))
	case event.HostEffect:
		what = fmt.Sprintf("programs of %s, called by %s, can connect to: %s", a.Call.SkillName, expert, effect.Host)
	case event.PathEffect:
		what = fmt.Sprintf("commands of %s can read: %s", expert, effect.Path)
	default:
		words := []string{a.Call.ToolName}
		if effect.Path != "" {
			words = append(words, effect.Path)
		}
		what = fmt.Sprintf("%s can call with the same arguments: %s", expert, terminal.ShellJoin(words...))
	}
	if q.redact != nil {
		what = q.redact(what)
	}
	return "rule: " + until + ", " + terminal.RevealLine(what)
}
