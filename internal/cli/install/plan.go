package install

import (
	"fmt"
	"path/filepath"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/skills"
)

// A plan says which servers are started and which entries are kept.
type plan struct {
	servers []*server // in file order
}

// A server serves one or several skills: skills that are started in the same way have the same
// tools.
type server struct {
	skill  *expert.Skill // the first that uses it
	users  []user
	before *lockfile.Skill // what the old lock has about the first user; nil if nothing
	found  *lockfile.Skill // nil until it is known
	kept   bool            // found is from the old lock
	failed error           // why it is not known, if it was asked in a container
}

// A user is a skill of an Expert.
type user struct {
	expert string
	skill  *expert.Skill
}

func (u user) String() string { return fmt.Sprintf("%s (%s)", u.skill.Name, u.expert) }

// newPlan keeps the entries of the old lock that are still valid, except with update.
func newPlan(c *manifest.Config, old *lockfile.Lock, update bool, workspace string) *plan {
	p := &plan{}
	known := map[string]*server{}
	for _, e := range c.All() {
		locked, _ := old.Expert(e.Key)
		for _, k := range e.Servers() {
			digest := k.Connection()
			s := known[digest]
			if s == nil {
				s = &server{skill: k}
				s.before, _ = locked.Skill(k.Name)
				known[digest] = s
				p.servers = append(p.servers, s)
			}
			s.users = append(s.users, user{e.Key, k})
			if update || s.found != nil {
				continue
			}
			if entry, ok := locked.Skill(k.Name); ok && entry.Holds(k) && isPinned(entry, k, workspace, c.Settings.Runtime) {
				s.found, s.kept = entry, true
			}
		}
	}
	return p
}

// isPinned reports whether a skill is started from the same files of the workspace as before.
func isPinned(entry *lockfile.Skill, k *expert.Skill, workspace, runtime string) bool {
	now, err := skills.PinProgram(k, workspace, runtime)
	return err == nil && programs.Compare(entry.Program, now) == ""
}

// alone returns an Expert that has only this server.
func (s *server) alone() *expert.Expert {
	return &expert.Expert{Key: s.users[0].expert, Name: s.users[0].expert, Skills: []*expert.Skill{s.skill}}
}

// missingEnv lists all missing variables of the servers that will be started.
func (p *plan) missingEnv(get func(string) string) expert.VariableProblems {
	var missing expert.VariableProblems
	for _, s := range p.servers {
		if !s.kept {
			missing = append(missing, s.alone().MissingEnv(get)...)
		}
	}
	return missing
}

// lock makes the lockfile, with an entry for each skill. published has what is known of Experts of
// registries, by their exact keys.
func (p *plan) lock(c *manifest.Config, published map[string]*lockfile.Published) *lockfile.Lock {
	found := map[user]*lockfile.Skill{}
	for _, s := range p.servers {
		for _, u := range s.users {
			entry := *s.found
			entry.Name = u.skill.Name
			found[u] = &entry
		}
	}
	l := &lockfile.Lock{Path: c.LockFile(), ConfigPath: filepath.Base(c.Path)}
	for _, e := range c.All() {
		locked := lockfile.NewExpert(e)
		locked.Published = published[e.Key]
		for _, s := range e.Servers() {
			locked.Skills = append(locked.Skills, found[user{e.Key, s}])
		}
		l.Experts = append(l.Experts, locked)
	}
	return l
}
