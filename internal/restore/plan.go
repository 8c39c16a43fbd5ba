package restore

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/filename"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// A Plan is what a restore would do.
type Plan struct {
	rewind.Plan
	Target engine.FileState
	// Others are the paths that others changed since the target, and that stay as they are.
	Others []string
	// GitOutside says that a repository lies outside of the workspace, and stays as it is.
	GitOutside bool

	taker    *snapshot.Taker
	now      snapshot.Snapshot
	tree     snapshot.Tree // the present state
	lost     []snapshot.Skipped
	gitLocks []string
}

// A RefusedError says why files cannot be restored. Nothing was changed.
type RefusedError struct {
	Conflicts []string           // the job changed them, and so did others
	Lost      []snapshot.Skipped // their present content could not be stored
	GitLocks  []string           // git is at work, or was killed
	Folded    []string           // names that the file system takes for the same
}

func (e *RefusedError) Error() string {
	var lines []string
	for _, group := range []struct {
		says  string
		paths []string
	}{
		{"changed by the job, and later by others", e.Conflicts},
		{"a git command is running, or was killed and left", e.GitLocks},
		{"their names are the same on this file system", e.Folded},
	} {
		if len(group.paths) > 0 {
			lines = append(lines, group.says+": "+strings.Join(group.paths, " "))
		}
	}
	for _, s := range e.Lost {
		lines = append(lines, "the present content of "+s.Path+" could not be stored: "+s.Why)
	}
	return "nothing was restored\n" + strings.Join(lines, "\n")
}

// Plan says what a restore would do. It looks at the workspace and changes nothing.
func (s *Session) Plan(ctx context.Context, target engine.FileState, o rewind.Options) (*Plan, error) {
	id, err := parse(target.Tree)
	if err != nil {
		return nil, err
	}
	p := &Plan{Target: target}
	if err := stored(s.files, target, id); err != nil {
		return nil, err
	}
	goal, err := s.files.Load(id)
	if err != nil {
		return nil, err
	}
	if err := s.look(ctx, p, goal); err != nil {
		return nil, err
	}
	states, err := statesFrom(s.files, s.History.Files(), target)
	if err != nil {
		return nil, err
	}
	states = append(states, rewind.State{Tree: p.now.Tree, Others: true, Job: s.unsure})
	work, err := rewind.WorkOf(s.files, states)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		o.Fold = filename.Fold
	}
	p.Plan = rewind.Make(goal, p.tree, work, o)
	if len(p.Conflicts) == 0 {
		if err := s.keepCommits(p); err != nil {
			return nil, err
		}
	}
	p.GitOutside = p.now.GitOutside
	p.note(goal, work, o)
	return p, nil
}

// look stores the present state.
func (s *Session) look(ctx context.Context, p *Plan, target snapshot.Tree) (err error) {
	last, err := s.lastTree()
	if err != nil {
		return err
	}
	o := runtimes.SnapshotOptions(s.spec, capturesEnv(target, last))
	// What a job has made unreadable is read all the same, or it could not be restored. What the
	// target does not have, because it was so before, is left alone.
	o.Readable = func(path string) bool {
		e, ok := target[path]
		return !(ok && !e.Captured()) && !target.LeftOut(path)
	}
	p.taker = s.files.Taker(s.Workspace, o)
	if p.now, err = p.taker.Take(ctx); err != nil {
		return err
	}
	p.tree, err = s.files.Load(p.now.Tree)
	return err
}

// capturesEnv reports whether one of the snapshots captures env files. They do where programs of the
// job can change them.
func capturesEnv(trees ...snapshot.Tree) bool {
	for _, t := range trees {
		for _, e := range t {
			if e.Flags&snapshot.Private != 0 && e.Captured() {
				return true
			}
		}
	}
	return false
}

// lastTree returns the newest state that the journal has.
func (s *Session) lastTree() (snapshot.Tree, error) {
	all := s.History.Files()
	if len(all) == 0 {
		return nil, nil
	}
	id, err := parse(all[len(all)-1].Tree)
	if err != nil {
		return nil, err
	}
	if has, err := s.files.Has(id); !has {
		return nil, err
	}
	return s.files.Load(id)
}

// note fills in what others changed, and what keeps the plan from being carried out.
func (p *Plan) note(target snapshot.Tree, work rewind.Work, o rewind.Options) {
	known := map[string]bool{} // as the job's, or as what stays
	for path := range work {
		known[path] = true
	}
	for _, l := range p.Left {
		known[l.Path] = true
		// What the target does not have, such as a large file that the job made, can be left alone.
		was, had := target[l.Path]
		if e, ok := p.tree[l.Path]; had && was.Captured() && ok && !e.Captured() && p.wasSkipped(l.Path) {
			if i := slices.IndexFunc(p.now.Skipped, func(s snapshot.Skipped) bool { return s.Path == l.Path }); i >= 0 {
				l = p.now.Skipped[i] // it says what the user can do about it
			}
			p.lost = append(p.lost, l)
		}
	}
	for _, c := range p.Changes {
		if c.Before != nil && c.Before.Flags&snapshot.Torn != 0 {
			p.lost = append(p.lost, snapshot.Skipped{Path: c.Path, Why: "it changed each time it was read"})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.tree)) {
		e := p.tree[path]
		was, ok := target[path]
		if isGitLock(path) && e.Kind == snapshot.File && !o.KeepGit {
			p.gitLocks = append(p.gitLocks, path)
		}
		goal, stays := p.Goal[path]
		if stays && e.Kind != snapshot.Directory && !known[path] && !target.LeftOut(path) && snapshot.Same(&goal, &e) &&
			!(ok && snapshot.Same(&was, &e)) && !strings.HasSuffix("/"+path, "/.git/index") {
			p.Others = append(p.Others, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(target)) {
		_, there := p.Goal[path]
		if e := target[path]; !there && !known[path] && e.Kind != snapshot.Directory && e.Captured() {
			p.Others = append(p.Others, path)
		}
	}
}

// wasSkipped reports whether the snapshot of the present state could not capture a path, because of
// a limit or an error. What it leaves out by rule, such as node_modules, is no loss.
func (p *Plan) wasSkipped(path string) bool {
	return p.now.Incomplete != "" || p.now.SkippedAll > len(p.now.Skipped) ||
		slices.ContainsFunc(p.now.Skipped, func(s snapshot.Skipped) bool { return s.Path == path })
}

// isGitLock recognises the files by which git commands exclude each other.
func isGitLock(path string) bool {
	return strings.HasSuffix(path, ".lock") && slices.Contains(strings.Split(path, "/"), ".git")
}

// Check returns a [*RefusedError] if the plan cannot be carried out.
func (p *Plan) Check() error {
	if len(p.Changes) == 0 && len(p.Conflicts) == 0 && len(p.lost) == 0 {
		return nil
	}
	if len(p.Conflicts)+len(p.lost)+len(p.gitLocks)+len(p.Folded) == 0 {
		return nil
	}
	return &RefusedError{Conflicts: p.Conflicts, Lost: p.lost, GitLocks: p.gitLocks, Folded: p.Folded}
}

// verify reads everything that the plan needs.
func (s *Session) verify(changes []snapshot.Change) (err error) {
	for _, c := range changes {
		switch {
		case c.After == nil || c.After.Kind == snapshot.Directory:
		case c.After.Kind == snapshot.Link:
			_, err = s.files.Target(*c.After)
		default:
			err = s.files.Content(*c.After, func([]byte) error { return nil })
		}
		if err != nil {
			return fmt.Errorf("nothing was restored: the stored content of %s is damaged: %w", wording.Visible(c.Path), err)
		}
	}
	return nil
}
