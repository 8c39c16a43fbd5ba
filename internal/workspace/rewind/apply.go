package rewind

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// stagingPrefix begins the name of the directory in the workspace that new contents are written to.
const stagingPrefix = ".perstack-restore-"

// A Result says what a restore did.
type Result struct {
	Changed int                // how many paths it changed
	Skipped []snapshot.Skipped // what it left alone, because others changed it meanwhile
}

// Apply carries out a plan for the workspace that the taker has just taken a snapshot of. id names
// the restore, so that what a crash leaves can be recognised.
//
// All contents are written and checked first. Then what is not in the goal is removed, directories
// are made, files and links get their names, and at the end directories get their modes. Each file
// changes at once. Applying a plan again does what is left of it.
func Apply(ctx context.Context, dir, id string, store *snapshot.Store, taker *snapshot.Taker, changes []snapshot.Change) (Result, error) {
	root, err := opendir.Open(dir)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	a := &applier{ctx: ctx, store: store, taker: taker, root: root, made: map[string]bool{}, modes: map[string]uint16{}}
	staging, err := a.makeStaging(stagingPrefix + id)
	if err != nil {
		return Result{}, fmt.Errorf("restore files in %s: %w", dir, err)
	}
	if a.staging, err = root.Sub(staging); err != nil {
		return Result{}, err
	}
	defer a.staging.Close()
	err = a.apply(changes)
	if err = errors.Join(err, a.removeStaging(staging), a.setModes()); err != nil {
		return a.result, fmt.Errorf("restore files in %s: %w", dir, err)
	}
	return a.result, nil
}

type applier struct {
	ctx     context.Context
	store   *snapshot.Store
	taker   *snapshot.Taker
	root    opendir.Dir
	staging opendir.Dir
	made    map[string]bool   // directories that did not exist
	modes   map[string]uint16 // that directories get at the end
	result  Result
}

func (a *applier) apply(changes []snapshot.Change) error {
	for i, c := range changes {
		if err := a.stage(strconv.Itoa(i), c); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	type step struct {
		applies func(snapshot.Change) bool
		do      func(name string, in opendir.Dir, c snapshot.Change, staged string) error
		reverse bool
	}
	steps := []step{
		{func(c snapshot.Change) bool { return c.Before != nil && inTheWay(c) }, a.remove, true},
		{func(c snapshot.Change) bool { return c.After != nil && c.After.Kind == snapshot.Directory }, a.directory, false},
		{func(c snapshot.Change) bool { return c.After != nil && c.After.Kind != snapshot.Directory }, a.move, false},
	}
	failed := map[string]bool{}
	for _, s := range steps {
		order := make([]int, 0, len(changes))
		for i, c := range changes {
			if s.applies(c) {
				order = append(order, i)
			}
		}
		if s.reverse { // what is in a directory before the directory
			slices.Reverse(order)
		}
		for _, i := range order {
			if err := a.ctx.Err(); err != nil {
				return err
			}
			c := changes[i]
			if failed[c.Path] {
				continue
			}
			err := a.at(c, func(in opendir.Dir, name string) error { return s.do(name, in, c, strconv.Itoa(i)) })
			var left *leftError
			if errors.As(err, &left) {
				failed[c.Path] = true
				a.result.Skipped = append(a.result.Skipped, snapshot.Skipped{Path: c.Path, Why: left.why})
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.Path, err)
			}
		}
	}
	a.result.Changed = len(changes) - len(failed)
	return a.sync(changes)
}

// sync makes the names durable that changed. The caller records next that the restore has ended, and
// then nothing would do it again after a power cut.
func (a *applier) sync(changes []snapshot.Change) error {
	done := map[string]bool{}
	for _, c := range changes {
		dir := snapshot.Parent(c.Path)
		if done[dir] {
			continue
		}
		done[dir] = true
		d, err := a.open(dir)
		if left := (*leftError)(nil); errors.As(err, &left) {
			continue // it was removed, or is not the one that was changed
		}
		if err != nil {
			return err
		}
		err = d.Sync()
		if dir != "" {
			err = errors.Join(err, d.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inTheWay reports whether what is there has to be removed: a file that replaces a file or a link
// needs no removal.
func inTheWay(c snapshot.Change) bool {
	return c.After == nil || (c.Before.Kind == snapshot.Directory) != (c.After.Kind == snapshot.Directory)
}

// stage writes the content that a path gets.
func (a *applier) stage(name string, c snapshot.Change) error {
	if err := a.ctx.Err(); err != nil || c.After == nil || c.After.Kind == snapshot.Directory {
		return err
	}
	if c.After.Kind == snapshot.Link {
		target, err := a.store.Target(*c.After)
		if err != nil {
			return err
		}
		return a.staging.Symlink(target, name)
	}
	f, err := a.staging.Create(name, 0o600)
	if err != nil {
		return err
	}
	err = a.store.Content(*c.After, func(content []byte) error {
		_, err := f.Write(content)
		return err
	})
	if err == nil {
		err = a.setRights(f, c)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// setRights gives a new file its mode, and the owner and the access list of the file that it
// replaces. If that one has changed meanwhile, it is not replaced.
func (a *applier) setRights(f *os.File, c snapshot.Change) error {
	mode := fs.FileMode(c.After.Mode)
	if c.Before == nil || c.Before.Kind != snapshot.File {
		return f.Chmod(mode)
	}
	err := a.at(c, func(in opendir.Dir, name string) error {
		old, err := in.Read(name)
		if err != nil {
			return f.Chmod(mode) // the access list cannot be read either
		}
		defer old.Close()
		return workspace.KeepRights(f, old, mode)
	})
	if left := (*leftError)(nil); errors.As(err, &left) {
		return nil
	}
	return err
}

// A leftError says why a path was not touched.
type leftError struct{ why string }

func (e *leftError) Error() string { return e.why }

var (
	errChanged   = &leftError{"it was changed meanwhile"}
	errDirectory = &leftError{"its directory was changed meanwhile"}
)

// at calls do with the open directory of a path, if that is still the directory of the snapshot, and
// the path is still what it was.
func (a *applier) at(c snapshot.Change, do func(in opendir.Dir, name string) error) error {
	dir := snapshot.Parent(c.Path)
	in, err := a.open(dir)
	if err != nil {
		return err
	}
	if dir != "" {
		defer in.Close()
	}
	name := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
	if err := a.check(in, name, c); err != nil {
		return err
	}
	return do(in, name)
}

// open opens a directory of the workspace.
func (a *applier) open(path string) (opendir.Dir, error) {
	d := a.root
	if path == "" {
		return d, a.writable(d, "")
	}
	for at := 0; at < len(path); {
		end := len(path)
		if i := strings.IndexByte(path[at:], '/'); i >= 0 {
			end = at + i
		}
		sub, err := d.Sub(path[at:end])
		if errors.Is(err, fs.ErrPermission) {
			sub, err = a.openClosed(d, path[at:end], path[:end])
		}
		if d != a.root {
			d.Close()
		}
		if err != nil {
			return sub, errDirectory
		}
		d = sub
		if err := a.sameDirectory(d, path[:end]); err != nil {
			d.Close()
			return d, err
		}
		at = end + 1
	}
	if err := a.writable(d, path); err != nil {
		d.Close()
		return d, err
	}
	return d, nil
}

// openClosed opens a directory that its mode closes, and makes it writable until the end.
func (a *applier) openClosed(in opendir.Dir, name, path string) (opendir.Dir, error) {
	is, err := in.Stat(name)
	if err != nil || is.Kind != snapshot.Directory {
		return opendir.Dir{}, errDirectory
	}
	was, _ := a.taker.Stamp(path)
	if err := in.SetBits(name, was, 0o700, true); err != nil {
		return opendir.Dir{}, err
	}
	if _, ok := a.modes[path]; !ok {
		a.modes[path] = is.Mode
	}
	return in.Sub(name)
}

// sameDirectory checks that an open directory is the one that the snapshot saw, or that it was made
// by the restore.
func (a *applier) sameDirectory(d opendir.Dir, path string) error {
	is, err := d.Self()
	if err != nil {
		return err
	}
	was, ok := a.taker.Stamp(path)
	if a.made[path] || ok && was.Device == is.Stamp.Device && was.Inode == is.Stamp.Inode {
		return nil
	}
	return errDirectory
}

// writable makes a directory writable for its owner until the end.
func (a *applier) writable(d opendir.Dir, path string) error {
	is, err := d.Self()
	if err != nil || is.Mode&0o300 == 0o300 {
		return err
	}
	if _, ok := a.modes[path]; !ok {
		a.modes[path] = is.Mode
	}
	return d.Chmod(is.Mode | 0o700)
}

// check reports whether a path is still what the snapshot saw, or what an earlier step made of it.
func (a *applier) check(in opendir.Dir, name string, c snapshot.Change) error {
	is, err := in.Stat(name)
	was, ok := a.taker.Stamp(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.Before == nil || inTheWay(c) {
			return nil
		}
		return errChanged
	case err != nil:
		return err
	case a.made[c.Path]:
		return nil
	case c.Before == nil || !ok:
		return errChanged
	case c.Before.Kind == snapshot.Directory:
		if is.Kind != snapshot.Directory || is.Stamp.Inode != was.Inode || is.Stamp.Device != was.Device {
			return errChanged
		}
		return nil
	case is.Stamp != was:
		return errChanged
	}
	return nil
}

// remove removes what is not in the goal.
func (a *applier) remove(name string, in opendir.Dir, c snapshot.Change, _ string) error {
	var err error
	if c.Before.Kind == snapshot.Directory {
		if err = in.RemoveDir(name); isNotEmpty(err) {
			return &leftError{"something was put into it meanwhile"}
		}
	} else {
		err = in.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// directory makes a directory, or notes the mode that one gets.
func (a *applier) directory(name string, in opendir.Dir, c snapshot.Change, _ string) error {
	a.modes[c.Path] = c.After.Mode
	if c.Before != nil && c.Before.Kind == snapshot.Directory {
		return nil
	}
	err := in.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return errChanged
	}
	if err == nil {
		a.made[c.Path] = true
	}
	return err
}

// move gives staged content its name.
func (a *applier) move(name string, in opendir.Dir, _ snapshot.Change, staged string) error {
	return a.staging.MoveTo(in, staged, name)
}

// setModes sets the modes of directories, those deep down first: without the rights to one, those in
// it could not be reached.
func (a *applier) setModes() error {
	paths := make([]string, 0, len(a.modes))
	for path := range a.modes {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range slices.Backward(paths) {
		mode := a.modes[path]
		d, err := a.open(path)
		if err != nil {
			var left *leftError
			if errors.As(err, &left) {
				continue // it is named already, or was changed after everything in it was restored
			}
			return err
		}
		err = errors.Join(d.Sync(), d.Chmod(mode))
		if path != "" {
			err = errors.Join(err, d.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeStaging makes the staging directory, in place of one that a crash left. A job that knows the
// name can have put something there which cannot be removed like that. Then another name has to do:
// a restore that cannot begin would keep all jobs from the workspace.
func (a *applier) makeStaging(name string) (string, error) {
	if err := a.writable(a.root, ""); err != nil {
		return "", err
	}
	if a.removeStaging(name) != nil {
		name += "-" + rand.Text()
	}
	return name, a.root.Mkdir(name, 0o700)
}

// removeStaging removes the staging directory with what is in it.
func (a *applier) removeStaging(name string) error {
	d, err := a.root.Sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	for _, name := range names {
		err = errors.Join(err, d.Remove(name))
	}
	return errors.Join(err, a.root.RemoveDir(name))
}
