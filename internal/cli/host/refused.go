package host

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// Refused lists what keeps runs from starting for a reason that lies in perstack.toml or its
// lockfile and, as warnings, what a run will not do although the file says so. It is the same
// for perstack run and perstack validate. Each of the runs is a list of Experts. What
// flags say about a run is in settings. err is what reading the lockfile came to.
func Refused(c *manifest.Config, settings job.Settings, lock *lockfile.Lock, err error, runs ...[]*expert.Expert) (found toml.Problems) {
	seen := make(map[toml.Problem]bool)
	var all []*expert.Expert
	for _, experts := range runs {
		all = append(all, experts...)
		for _, p := range c.UnsupportedBy(experts, settings) {
			if !seen[p] { // the runtime, for instance, is the same for all
				seen[p] = true
				found = append(found, p)
			}
		}
	}
	switch {
	case err != nil:
		return append(found, brokenLock(err)...)
	case lock != nil:
		if stale := lock.StaleFor(c, all); len(stale) > 0 {
			return append(found, stale...)
		}
		return append(found, collisions(c, lock, all)...)
	case settings.Runtime == job.Docker || settings.Runtime == "" && c.Settings.Runtime == job.Docker:
		return append(found, lockfile.Needed(c, all)...)
	}
	return found
}

// brokenLock is the first thing that is wrong with a lockfile, with what to do about it. Where
// one thing is wrong, the rest of the file means little.
func brokenLock(err error) toml.Problems {
	var all toml.Problems
	if !errors.As(err, &all) || len(all) == 0 {
		return toml.Problems{{Message: err.Error()}}
	}
	first := all[0]
	first.Hint = all[len(all)-1].Hint
	return toml.Problems{first}
}

// collisions are tools of one Expert that have the same name, as far as the lockfile tells.
func collisions(c *manifest.Config, lock *lockfile.Lock, experts []*expert.Expert) (found toml.Problems) {
	locked := lock.ByKey()
	for _, e := range experts {
		for _, err := range Collisions(e, func(s *expert.Skill) *lockfile.Skill {
			pinned, _ := locked[e.Key].Skill(s.Name)
			return pinned
		}) {
			found = append(found, c.Problem(toml.PathTo("experts", e.Name), err.Error(), ""))
		}
	}
	return found
}

// Unaccepted lists which files keep runs from starting because a job has changed them and the user
// has not accepted that: perstack.toml at path, which the flag --config or the working directory
// leads to, and others that a run reads.
func (h *Host) Unaccepted(ctx context.Context, flag, path string, others ...string) (found toml.Problems, err error) {
	marks, err := h.TrustMarks(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range append(h.configNames(flag, path), others...) {
		check, err := marks.Check(name)
		if err != nil {
			found = append(found, toml.Problem{File: name, Message: h.TrustProblem(err).Error()})
		}
		if err := check.Acceptable(); err != nil && len(check.Refusals) > 0 {
			found = append(found, toml.Problem{File: name, Message: err.Error()})
			continue
		}
		for _, r := range check.Refusals {
			found = append(found, toml.Problem{
				File: name, Message: "no run starts until you accept it: " + h.DescribeMark(r),
				Hint: "look at it first, then run: " + h.Command + " trust " + h.name(r.Accept),
			})
		}
	}
	return found, nil
}

// configNames are the files that decide which perstack.toml is used, if it is the one at path. A
// perstack.toml that was removed lets that of a parent take its place.
func (h *Host) configNames(flag, path string) (names []string) {
	if flag != "" {
		return []string{path}
	}
	for at, below := h.Dir, ""; at != below && below != filepath.Dir(path); at, below = filepath.Dir(at), at {
		names = append(names, filepath.Join(at, manifest.FileName))
	}
	return names
}
