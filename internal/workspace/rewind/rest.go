package rewind

import (
	"maps"

	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// Rest returns what is left to do of a restore that did not end. was is the state when it began, and
// goal the one that it leads to. What others changed since is left alone.
func Rest(was, goal, now snapshot.Tree) Plan {
	m := maker{target: goal, now: now, options: Options{Force: true}, plan: Plan{Goal: maps.Clone(now)}, conflicts: map[string]bool{}}
	for _, c := range differences(was, goal) {
		is := entry(now, c.Path)
		switch {
		case snapshot.Same(is, c.After):
		case snapshot.Same(is, c.Before), halfway(is, c):
			m.set(c.Path, c.After)
		default:
			m.leave(c.Path, "it was changed after the restore began")
		}
		m.closeDirectory(snapshot.Parent(c.Path), goal)
	}
	m.settleParents()
	m.plan.Changes = differences(now, m.plan.Goal)
	return m.plan
}

// halfway reports whether a restore can have left a path like this: removed and not replaced yet, or
// a directory that did not have its mode yet, or was made writable for what had to go.
func halfway(is *snapshot.Entry, c snapshot.Change) bool {
	if is == nil {
		return c.Before != nil && inTheWay(c)
	}
	opened := c.Before != nil && c.Before.Kind == snapshot.Directory && is.Mode == c.Before.Mode|0o700
	return is.Kind == snapshot.Directory && is.Captured() && (opened || c.After != nil && c.After.Kind == snapshot.Directory)
}

// closeDirectory gives a directory its mode back that was made writable for what is in it.
func (m *maker) closeDirectory(dir string, goal snapshot.Tree) {
	is, end := entry(m.plan.Goal, dir), entry(goal, dir)
	if is != nil && end != nil && is.Kind == snapshot.Directory && end.Kind == snapshot.Directory && is.Mode == end.Mode|0o700 {
		m.plan.Goal[dir] = *end
	}
}
