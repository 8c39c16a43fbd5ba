package restore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// When a ref of git goes back, its commit can lose its last name, and git would remove it some day.
// So the restore gives it one: refs/perstack/kept/<job>-<n>. The objects of git are never restored.

const keptRefs = "refs/perstack/kept/"

// A repository is what the snapshots have of one: a directory that git keeps its data in.
type repository struct {
	dir  string // with a slash at the end
	refs map[string]string
}

// keepCommits adds names for commits to the goal of a plan.
func (s *Session) keepCommits(p *Plan) error {
	goal := maps.Clone(p.Goal)
	dirs := gitDirs(p.tree)
	if len(dirs) == 0 {
		return nil
	}
	// Sorted, what belongs to one repository is found without a look at all others: a job can make
	// many of them.
	before, after := slices.Sorted(maps.Keys(p.tree)), slices.Sorted(maps.Keys(p.Goal))
	for _, dir := range dirs {
		if _, stays := goal[dir+"HEAD"]; !stays {
			continue // the job made the repository
		}
		now, err := s.refsOf(dir, p.tree, before)
		if err != nil {
			return err
		}
		then, err := s.refsOf(dir, p.Goal, after)
		if err != nil {
			return err
		}
		if err := s.keep(goal, p.tree, now, then); err != nil {
			return err
		}
	}
	p.Revise(p.tree, goal)
	return nil
}

// keep gives names to the commits of a repository that would have none.
func (s *Session) keep(goal, tree snapshot.Tree, now, then repository) error {
	named := map[string]bool{}
	for _, commit := range then.refs {
		named[commit] = true
	}
	next := 1
	for ref := range now.refs {
		var n int
		if _, err := fmt.Sscanf(ref, keptRefs+s.keptName()+"%d", &n); err == nil {
			next = max(next, n+1)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(now.refs)) {
		commit := now.refs[ref]
		switch {
		case named[commit] || then.refs[ref] == commit:
		case strings.HasPrefix(ref, keptRefs): // an earlier restore made it
			if e, loose := tree[now.dir+ref]; loose {
				put(goal, now.dir+ref, e)
			}
		case strings.HasPrefix(ref, "refs/remotes/"):
		default:
			e, err := s.files.SaveFile([]byte(commit + "\n"))
			if err != nil {
				return err
			}
			e.Mode = 0o644
			put(goal, now.dir+keptRefs+s.keptName()+fmt.Sprint(next), e)
			next++
		}
		named[commit] = true
	}
	return nil
}

// keptName is the job in the name of a ref, which cannot have two dots in a row.
func (s *Session) keptName() string { return strings.ReplaceAll(s.History.Job.ID, ".", "_") + "-" }

// put adds a file to a tree, with the directories around it.
func put(t snapshot.Tree, path string, e snapshot.Entry) {
	e.Name = path[strings.LastIndexByte(path, '/')+1:]
	t[path] = e
	for dir := snapshot.Parent(path); dir != ""; dir = snapshot.Parent(dir) {
		if _, ok := t[dir]; !ok {
			t[dir] = snapshot.Entry{Name: dir[strings.LastIndexByte(dir, '/')+1:], Kind: snapshot.Directory, Mode: 0o755}
		}
	}
}

// gitDirs returns the directories that git keeps data in, also for submodules. Linked worktrees
// have the refs of their repository. A repository with reftables has no files to read.
func gitDirs(t snapshot.Tree) (dirs []string) {
	for path := range t {
		dir, ok := strings.CutSuffix(path, "HEAD")
		if !ok || !strings.HasSuffix(dir, "/") || !slices.Contains(strings.Split(dir, "/"), ".git") {
			continue
		}
		refs, hasRefs := t[dir+"refs"]
		if _, tables := t[dir+"reftable"]; hasRefs && refs.Kind == snapshot.Directory && !tables {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// refsOf returns the refs of a repository that name a commit, and a HEAD that does. paths are those
// of the tree, sorted.
func (s *Session) refsOf(dir string, t snapshot.Tree, paths []string) (repository, error) {
	r := repository{dir, map[string]string{}}
	if e, ok := t[dir+"packed-refs"]; ok {
		text, err := s.text(e)
		if err != nil {
			return r, err
		}
		for line := range strings.Lines(text) {
			commit, ref, ok := strings.Cut(strings.TrimSpace(line), " ")
			if ok && isCommit(commit) {
				r.refs[ref] = commit
			}
		}
	}
	first, _ := slices.BinarySearch(paths, dir)
	for _, path := range paths[first:] {
		ref, ok := strings.CutPrefix(path, dir)
		if !ok {
			break
		}
		if ref != "HEAD" && !strings.HasPrefix(ref, "refs/") && !isWorktreeHead(ref) {
			continue
		}
		text, err := s.text(t[path])
		if err != nil {
			return r, err
		}
		if commit := strings.TrimSpace(text); isCommit(commit) {
			r.refs[ref] = commit
		}
	}
	return r, nil
}

// isWorktreeHead recognises worktrees/<name>/HEAD.
func isWorktreeHead(path string) bool {
	rest, ok := strings.CutPrefix(path, "worktrees/")
	return ok && strings.HasSuffix(rest, "/HEAD") && strings.Count(rest, "/") == 1
}

// maxRefs bounds what is read of a file with refs.
const maxRefs = 16 << 20

// text returns the content of a file; "" for what is none.
func (s *Session) text(e snapshot.Entry) (string, error) {
	if e.Kind != snapshot.File || !e.Captured() || e.Size > maxRefs {
		return "", nil
	}
	var all []byte
	err := s.files.Content(e, func(piece []byte) error {
		all = append(all, piece...)
		return nil
	})
	return string(all), err
}

// isCommit recognises the id of an object of git.
func isCommit(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// IsKeptRef reports whether a path is a name that a restore gave to a commit, or a directory of such
// names.
func IsKeptRef(path string) bool {
	return strings.Contains(path, ".git/") && (strings.Contains(path+"/", "/refs/perstack/"))
}

// Branches returns what the HEAD of a repository is now, and what it is after a plan: a branch, or a
// commit. It returns nothing for other paths.
func (s *Session) Branches(p rewind.Plan, path string) (now, after string, err error) {
	if path != ".git/HEAD" && !strings.HasSuffix(path, "/.git/HEAD") {
		return "", "", nil
	}
	i, found := slices.BinarySearchFunc(p.Changes, path, func(c snapshot.Change, path string) int { return strings.Compare(c.Path, path) })
	if !found {
		return "", "", nil
	}
	if c := p.Changes[i]; c.Before != nil && c.After != nil {
		if now, err = s.text(*c.Before); err == nil {
			after, err = s.text(*c.After)
		}
	}
	return branch(now), branch(after), err
}

func branch(head string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(head), "ref: "), "refs/heads/")
	if isCommit(name) {
		return name[:7]
	}
	return name
}
