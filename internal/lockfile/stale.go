package lockfile

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// Stale says why the lock cannot be used to run e: it was made from another file, or lacks
// what e and the Experts that it can reach need. Instructions, descriptions, rules, pick and
// omit may change without a new lock: the file decides about them. A nil lock is not stale.
func (l *Lock) Stale(c *manifest.Config, e *expert.Expert) toml.Problems {
	closure, _ := c.Closure(e)
	return l.StaleFor(c, closure)
}

// StaleFor is Stale for these Experts alone, without their delegates.
func (l *Lock) StaleFor(c *manifest.Config, experts []*expert.Expert) toml.Problems {
	if l == nil {
		return nil
	}
	reasons := newReasons(l)
	reasons.origin(c)
	for _, e := range experts {
		reasons.stale(e)
	}
	return reasons.withHint()
}

// Differences lists everything in which the lock is not what installing c would write,
// also what a run does not mind. What servers offer now is not asked.
func (l *Lock) Differences(c *manifest.Config) toml.Problems {
	reasons := newReasons(l)
	reasons.origin(c)
	reasons.images(c)
	for _, e := range c.Experts {
		locked, ok := reasons.experts[e.Key]
		if !ok {
			reasons.add("the Expert %s is new", wording.Quote(e.Key))
			continue
		}
		before := len(reasons.problems)
		reasons.stale(e)
		for _, s := range locked.Skills {
			if !slices.ContainsFunc(e.Servers(), func(now *expert.Skill) bool { return now.Name == s.Name }) {
				reasons.add("%s is gone", skillOf(e.Key, s.Name))
			}
		}
		if len(reasons.problems) == before && locked.head() != NewExpert(e).head() {
			reasons.add("the Expert %s was edited", wording.Quote(e.Key))
		}
	}
	reasons.published(c)
	for _, e := range l.Experts {
		if _, ok := c.Lookup(e.Key); !ok && e.Published == nil {
			reasons.add("the Expert %s is gone", wording.Quote(e.Key))
		}
	}
	return reasons.withHint()
}

// published compares the published Experts that the file needs with those that the lock pins.
func (r *lockReasons) published(c *manifest.Config) {
	needed, reached := c.Missing(), map[string]bool{}
	var rest []string
	for _, key := range needed {
		e, ok := r.lock.Published(key)
		if !ok {
			r.add("the published Expert %s is new", wording.Quote(key))
			continue
		}
		rest = append(rest, e.Key)
	}
	for len(rest) > 0 {
		key := rest[0]
		rest = rest[1:]
		if e := r.experts[key]; e != nil && !reached[key] {
			reached[key] = true
			rest = append(rest, e.Delegates...)
		}
	}
	for _, e := range r.lock.Experts {
		if e.Published == nil {
			continue
		}
		unused := slices.ContainsFunc(e.Published.Requested, func(key string) bool { return !slices.Contains(needed, key) })
		if unused || !reached[e.Key] {
			r.add("the published Expert %s is not needed any more", wording.Quote(e.Key))
		}
	}
}

// lockReasons collects why a lock does not fit.
type lockReasons struct {
	lock     *Lock
	experts  map[string]*Expert // of the lock, by key
	problems toml.Problems
}

func newReasons(l *Lock) *lockReasons {
	return &lockReasons{lock: l, experts: l.ByKey()}
}

func (r *lockReasons) add(format string, args ...any) {
	r.problems = append(r.problems, toml.Problem{File: r.lock.Path, Message: fmt.Sprintf(format, args...)})
}

// withHint returns the reasons, the last one with what to do about all of them.
func (r *lockReasons) withHint() toml.Problems {
	if n := len(r.problems); n > 0 {
		r.problems[n-1].Hint = InstallAgain
	}
	return r.problems
}

// origin compares the file that the lock was made from with the one that is used. What
// somebody reviewed in one file is no answer for another.
func (r *lockReasons) origin(c *manifest.Config) {
	if name := c.Name(); r.lock.ConfigPath != name {
		r.add("was made from %s, not from %s", wording.Quote(r.lock.ConfigPath), wording.Quote(name))
	}
}

func skillOf(expert, skill string) string {
	return fmt.Sprintf("the skill %s of %s", wording.Quote(skill), wording.Quote(expert))
}

func (r *lockReasons) stale(e *expert.Expert) {
	locked, ok := r.experts[e.Key]
	if !ok {
		if len(e.Servers()) > 0 {
			r.add("the Expert %s is new", wording.Quote(e.Key))
		}
		return
	}
	if change := setChange(locked.Delegates, e.Delegates); change != "" {
		r.add("%s delegates to others now: %s", wording.Quote(e.Key), change)
	} else if change := setChange(locked.DelegateTools, delegateTools(e.Delegates)); change != "" {
		r.add("the delegates of %s have other names as tools now: %s", wording.Quote(e.Key), change)
	}
	for _, s := range e.Servers() {
		pinned, ok := locked.Skill(s.Name)
		switch {
		case !ok:
			r.add("%s is new", skillOf(e.Key, s.Name))
		case pinned.Digest != s.Connection():
			r.add("%s", changed(e.Key, pinned, s))
		case !pinned.fits(s):
			r.add("%s is pinned to a package that it does not ask for", skillOf(e.Key, s.Name))
		}
	}
}

// changed says what is different about how a skill is started or reached.
func changed(key string, pinned *Skill, s *expert.Skill) string {
	now := SourceOf(s)
	switch {
	case pinned.Source == "":
		return skillOf(key, s.Name) + " is started or reached in another way now: " + wording.Visible(now)
	case pinned.Source == now:
		return skillOf(key, s.Name) + " has other headers or another allowPrivateEndpoint now"
	}
	return fmt.Sprintf("%s changed from %s to %s", skillOf(key, s.Name), wording.Quote(pinned.Source), wording.Quote(now))
}

// SourceOf says how a skill is started or reached, in one line without values of variables and
// headers.
func SourceOf(s *expert.Skill) string {
	words := []string{withoutKeys(s.Endpoint)}
	if s.Endpoint == "" {
		words = append([]string{s.Command}, s.Args...)
		if s.PackageName != "" {
			words = append(words, s.PackageName)
		}
	}
	if len(s.RequiredEnv) > 0 {
		words = append(words, "with "+strings.Join(slices.Compact(slices.Sorted(slices.Values(s.RequiredEnv))), ", "))
	}
	return strings.Join(words, " ")
}

// withoutKeys is an address without user and query, which can be keys.
func withoutKeys(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// Holds reports whether what was found out about a skill still holds for s.
func (l *Skill) Holds(s *expert.Skill) bool { return l.Digest == s.Connection() && l.fits(s) }

// fits compares the pinned package with the one that the file names. The digest of the
// skill covers what the file says, not what the lock says: without this check a lock
// could have another package started than the one that everybody reads in the file.
func (l *Skill) fits(s *expert.Skill) bool {
	wanted, ok := s.Package()
	if !ok || l.Package == nil {
		return !ok && l.Package == nil
	}
	return l.Package.Manager == wanted.Manager && l.Package.Name == wanted.Name &&
		(wanted.Version == "" || l.Package.Version == wanted.Version)
}

// maxChange bounds what is shown of a change: a lockfile can name very many delegates.
const maxChange = 400

// setChange writes what came and what went, like "+a, -b".
func setChange(before, now []string) string {
	var parts []string
	for _, s := range missingFrom(before, now) {
		parts = append(parts, "+"+s)
	}
	for _, s := range missingFrom(now, before) {
		parts = append(parts, "-"+s)
	}
	return wording.Cut(wording.Visible(strings.Join(parts, ", ")), maxChange)
}

// missingFrom are the words of a list that another one does not have.
func missingFrom(has, list []string) (missing []string) {
	known := make(map[string]bool, len(has))
	for _, s := range has {
		known[s] = true
	}
	for _, s := range list {
		if !known[s] {
			missing = append(missing, s)
		}
	}
	return missing
}

// Needed lists the packages of these Experts that need a lockfile to run with the runtime
// docker: they are put into an image before the run, and what is not pinned could be
// anything.
func Needed(c *manifest.Config, experts []*expert.Expert) (found toml.Problems) {
	for _, e := range experts {
		for _, s := range e.Servers() {
			if p, ok := s.Package(); ok {
				message := "the package " + wording.Quote(p.Spec()) + " is not pinned, and runtime docker puts only pinned ones into an image"
				found = append(found, c.Problem(toml.PathTo("experts", e.Name, "skills", s.Name), message, InstallAgain))
			}
		}
	}
	return found
}
