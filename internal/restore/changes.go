package restore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/job"
)

// Changes are what a job changed between two states of its workspace.
type Changes struct {
	List  []snapshot.Change
	files *snapshot.Store
}

// Compare returns what a job changed from one state to another, and nothing that others changed. It
// looks at the stored files only, and can be called while the job runs. The Changes must be closed.
// files is the directory of the stored files.
func Compare(ctx context.Context, files string, h *engine.History, from, to engine.FileState, paths []string) (_ *Changes, err error) {
	if _, err := os.Stat(files); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoFiles
	}
	c := &Changes{}
	if c.files, err = snapshot.Open(ctx, files); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	var until []engine.FileState
	for _, s := range h.Files() {
		if s.Seq <= to.Seq {
			until = append(until, s)
		}
	}
	states, err := statesFrom(c.files, until, from)
	if err != nil {
		return nil, err
	}
	work, err := rewind.WorkOf(c.files, states)
	if err != nil {
		return nil, err
	}
	first, err := parse(from.Tree)
	if err != nil {
		return nil, err
	}
	last, err := parse(to.Tree)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(stored(c.files, from, first), stored(c.files, to, last)); err != nil {
		return nil, err
	}
	all, err := known(c.files, first, last)
	for _, change := range all {
		if _, own := work[change.Path]; own && within(change.Path, paths) {
			c.List = append(c.List, change)
		}
	}
	return c, err
}

// known returns what differs between two states, and nothing in directories that one of them leaves
// out: what was added or removed there is not known.
func known(files *snapshot.Store, first, last snapshot.ID) ([]snapshot.Change, error) {
	before, err := files.Load(first)
	if err != nil {
		return nil, err
	}
	after, err := files.Load(last)
	if err != nil {
		return nil, err
	}
	all, err := files.Diff(first, last)
	return slices.DeleteFunc(all, func(c snapshot.Change) bool { return before.LeftOut(c.Path) || after.LeftOut(c.Path) }), err
}

// Since returns how the files of a workspace differ from a state, by the job and by others. It stores what
// it reads, so that a snapshot that follows need not read it again.
func Since(ctx context.Context, files string, spec job.Spec, target engine.FileState) (changes []snapshot.Change, err error) {
	store, err := snapshot.Open(ctx, files)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	id, err := parse(target.Tree)
	if err == nil {
		err = stored(store, target, id)
	}
	if err != nil {
		return nil, err
	}
	was, err := store.Load(id)
	if err != nil {
		return nil, err
	}
	taker := store.Taker(spec.Workspace.Dir, runtimes.SnapshotOptions(spec, capturesEnv(was)))
	now, err := taker.Take(ctx)
	if err != nil {
		return nil, err
	}
	changes, err = known(store, id, now.Tree)
	return changes, errors.Join(err, taker.Close())
}

// within reports whether a path is one of those, or in one of them. None stands for all.
func within(path string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return p == path || strings.HasPrefix(path, p+"/") })
}

// WritePatch writes the changes as git does.
func (c *Changes) WritePatch(w io.Writer) error { return rewind.WritePatch(w, c.files, c.List) }

// WriteOne is WritePatch for one of the changes.
func (c *Changes) WriteOne(w io.Writer, change snapshot.Change) error {
	return rewind.WritePatch(w, c.files, []snapshot.Change{change})
}

// Close releases the stored files.
func (c *Changes) Close() error { return c.files.Close() }
