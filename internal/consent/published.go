package consent

import (
	"crypto/sha256"
	"fmt"
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
	// Newer is a version that was the newest one before, if the registry says that an older one is.
	Newer string
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
		// A lockfile chooses the versions of its packages, and of all that these need.
		pins, words := l.pins(p)
		subject := p.Registry + " " + p.Key + " " + strings.Join(slices.Sorted(slices.Values(p.Digests)), " ")
		l.list = append(l.list, Request{Kind: manifest.RequestPublished, Text: text, More: append(slices.Clip(card), words...), subject: subject, code: pins})
		if p.Newer != "" {
			// The newer one was withdrawn, or the registry holds it back, with the fault that it has repaired.
			l.list = append(l.list, Request{
				Kind: manifest.RequestPublished, Text: p.Key + " is the newest version by " + p.Registry + ", which had " + p.Newer + " before",
				subject: "older " + subject + " " + p.Newer, Value: p.Key, Explicit: true,
			})
		}
	}
}

// pins are the packages of a published Expert and of all that it can reach, as the lockfile pins them: what
// identifies them, and lines for the user.
func (l *lister) pins(p Published) (id string, words []string) {
	var all []string
	for _, e := range l.project.Experts {
		if !slices.ContainsFunc(p.Digests, func(d string) bool { return strings.HasPrefix(d, e.Key+" ") }) {
			continue
		}
		locked, _ := l.project.Lock.Expert(e.Key)
		for _, s := range e.Servers() {
			pinned, ok := locked.Skill(s.Name)
			if !ok || !pinned.Holds(s) || pinned.Package == nil {
				continue
			}
			code := pinned.Package.ID()
			all = append(all, e.Key+"\n"+s.Name+"\n"+code)
			sum := sha256.Sum256([]byte(code))
			words = append(words, fmt.Sprintf("pinned by %s: %s@%s and all that it needs, %x", l.lockName(), pinned.Package.Name, pinned.Package.Version, sum[:6]))
		}
	}
	slices.Sort(all)
	slices.Sort(words)
	return strings.Join(all, "\n\n"), slices.Compact(words)
}

// Registries lists only where Experts come from: that is asked before their definitions are known.
func Registries(p Project) []Request {
	l := &lister{project: p}
	l.registries()
	return sorted(l.list)
}
