package consent

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
)

// A Published is an Expert that is not in the file, with all that it can reach. Package registry/resolve
// finds them.
type Published struct {
	Key      string   // exact
	Registry string   // address
	Origin   string   // what proves it, in words
	Digests  []string // of the Expert and all that it can reach
	// Before is the version that the project used until now; empty if there is none.
	Before string
	// Card is what it can do; with Before, what it can do that the other one could not, and the reverse.
	Card []string
}

// published adds Experts that others wrote. The answer is for exactly these definitions.
func (l *lister) published() {
	for _, p := range l.project.Published {
		text, card := p.Key+" of "+p.Registry+" ("+p.Origin+")", p.Card
		switch {
		case p.Before != "" && len(card) == 0:
			text += " instead of " + p.Before + "; it can do the same"
		case p.Before != "":
			text += " instead of " + p.Before + "; what it can do changes"
		}
		subject := p.Registry + " " + p.Key + " " + strings.Join(slices.Sorted(slices.Values(p.Digests)), " ")
		l.list = append(l.list, Request{Kind: manifest.RequestPublished, Text: text, More: card, subject: subject})
	}
}

// Registries lists only where Experts come from: that is asked before their definitions are known.
func Registries(p Project) []Request {
	l := &lister{project: p}
	l.registries()
	return sorted(l.list)
}
