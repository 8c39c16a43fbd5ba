package rewind

import (
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// Options limit or widen what a plan restores.
type Options struct {
	Paths   []string // only these, and what is in them; all if there is none
	Force   bool     // restore conflicts too
	Exact   bool     // restore every path, not only those that the job changed
	KeepGit bool     // leave .git as it is
	// Fold returns a name as a file system compares it, for one that takes different names for the
	// same; nil for others.
	Fold func(name string) string
}

// A Plan says what a restore does.
type Plan struct {
	Goal      snapshot.Tree     // the workspace afterwards
	Changes   []snapshot.Change // from the present state to the goal, in the order of paths
	Conflicts []string          // what the job and others changed; nothing is restored while there are any
	Folded    []string          // names of the goal that the file system takes for the same as others
	Left      []snapshot.Skipped
}

// Make plans the way from now to target.
func Make(target, now snapshot.Tree, work Work, o Options) Plan {
	m := maker{target: target, now: now, options: o, plan: Plan{Goal: maps.Clone(now)}, conflicts: map[string]bool{}}
	for _, path := range m.candidates(work) {
		m.decide(path, work[path])
	}
	m.settleParents()
	m.plan.Changes = differences(now, m.plan.Goal)
	m.plan.Folded = folded(m.plan.Goal, m.plan.Changes, o.Fold)
	return m.plan
}

// Revise changes the goal of a plan. now is the present state.
func (p *Plan) Revise(now, goal snapshot.Tree) { p.Goal, p.Changes = goal, differences(now, goal) }

type maker struct {
	target, now snapshot.Tree
	options     Options
	plan        Plan
	conflicts   map[string]bool // paths in plan.Conflicts
}

func entry(t snapshot.Tree, path string) *snapshot.Entry {
	if e, ok := t[path]; ok {
		return &e
	}
	return nil
}

// candidates returns the paths that the plan is about, sorted.
func (m *maker) candidates(work Work) (paths []string) {
	all := slices.Collect(maps.Keys(work))
	if m.options.Exact {
		for path := range m.target {
			all = append(all, path)
		}
		for path := range m.now {
			all = append(all, path)
		}
	}
	for _, path := range all {
		if m.wanted(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (m *maker) wanted(path string) bool {
	if m.options.KeepGit && slices.Contains(strings.Split(path, "/"), ".git") {
		return false
	}
	return len(m.options.Paths) == 0 || slices.ContainsFunc(m.options.Paths, func(p string) bool {
		return p == path || strings.HasPrefix(path, p+"/")
	})
}

// decide decides about one path.
func (m *maker) decide(path string, part Part) {
	target, now := entry(m.target, path), entry(m.now, path)
	switch {
	case snapshot.Same(target, now):
	case unknown(target) || unknown(now):
		m.leave(path, "its content is not in the snapshots")
	case m.target.LeftOut(path):
		// What was in its directory is not known, so whether it was there is not known either.
	case !m.options.Exact && (part.Mixed || !snapshot.Same(now, part.Left)) && !rewritten(path) && !m.options.Force:
		m.conflict(path)
	default:
		m.set(path, target)
	}
}

func (m *maker) set(path string, e *snapshot.Entry) {
	if e == nil {
		delete(m.plan.Goal, path)
		return
	}
	m.plan.Goal[path] = *e
}

// unknown reports that something is there whose content no snapshot has.
func unknown(e *snapshot.Entry) bool { return e != nil && !e.Captured() }

// rewritten reports whether programs write a file again without changing what it means: git does
// that to its index when it only looks.
func rewritten(path string) bool {
	return path == ".git/index" || strings.HasSuffix(path, "/.git/index")
}

func (m *maker) leave(path, why string) {
	m.plan.Left = append(m.plan.Left, snapshot.Skipped{Path: path, Why: why})
}

// settleParents sees to it that everything in the goal lies in a directory.
func (m *maker) settleParents() {
	for _, path := range slices.Sorted(maps.Keys(m.plan.Goal)) {
		for i := range path {
			if path[i] == '/' && !m.settleParent(path, path[:i]) {
				delete(m.plan.Goal, path)
				break
			}
		}
	}
}

// settleParent makes dir a directory of the goal, because path is in the goal. It reports false if
// path has to go instead.
func (m *maker) settleParent(path, dir string) bool {
	is, now := entry(m.plan.Goal, dir), entry(m.now, path)
	var as snapshot.Entry
	switch stays := now != nil && snapshot.Same(now, entry(m.plan.Goal, path)); {
	case is != nil && is.Kind == snapshot.Directory && is.Captured():
		return true
	case stays && is == nil:
		as = m.now[dir]
		m.leave(dir, "it contains files that the job did not make")
	case stays && m.overrides() && now.Captured():
		return false // the snapshot of the present state has it
	case stays:
		as = m.now[dir]
		m.conflict(dir)
	case is != nil && !is.Captured():
		m.leave(path, "its directory is not in the snapshots")
		return false
	default:
		as = m.target[dir]
		if is != nil && !m.overrides() {
			m.conflict(dir)
		}
	}
	m.plan.Goal[dir] = as
	return true
}

func (m *maker) overrides() bool { return m.options.Force || m.options.Exact }

func (m *maker) conflict(path string) {
	if !m.conflicts[path] {
		m.conflicts[path] = true
		m.plan.Conflicts = append(m.plan.Conflicts, path)
	}
}

// differences returns what changes between two trees, in the order of paths.
func differences(before, after snapshot.Tree) (changes []snapshot.Change) {
	paths := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if a, b := entry(before, path), entry(after, path); !snapshot.Same(a, b) {
			changes = append(changes, snapshot.Change{Path: path, Before: a, After: b})
		}
	}
	return changes
}

// folded returns the paths of the goal that change and whose name another one in the same directory
// has for the file system.
func folded(goal snapshot.Tree, changes []snapshot.Change, fold func(string) string) (paths []string) {
	if fold == nil {
		return nil
	}
	names := map[string]int{}
	for path := range goal {
		names[fold(path)]++
	}
	for _, c := range changes {
		if c.After != nil && names[fold(c.Path)] > 1 {
			paths = append(paths, c.Path)
		}
	}
	return paths
}
