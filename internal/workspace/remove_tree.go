package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// A tree looks at everything in a directory before it is moved or deleted, and deletes it. It
// goes from one open directory to the next and never follows a link, even if a directory is
// swapped for a link meanwhile.
type tree struct {
	top   *location // the directory
	fixed *watch    // of what is read only
	files int64     // seen by survey
	moves bool      // the directory is to be moved, not deleted: files in it keep their content
}

// empty deletes what is in the directory, after a look at all of it.
func (p *location) empty(ctx context.Context) error {
	dir, err := p.dir().step(p.name, p.info)
	if err != nil {
		return err
	}
	defer dir.Close()
	t := &tree{top: p, fixed: p.workspace.fixed.watch()}
	depth := len(p.path())
	if err := t.survey(ctx, dir, depth); err != nil {
		return err
	}
	return t.clear(ctx, dir, depth)
}

// maxFiles bounds the entries of a tree, so that a call ends.
const maxFiles = 1_000_000

// survey looks at each entry below dir, which lies so deep, and returns the first refusal.
// It holds one directory of each level open, and few names in memory.
func (t *tree) survey(ctx context.Context, dir folder, depth int) error {
	if depth >= maxDepth {
		return t.fail(InvalidPath, "contains directories that are nested too deep")
	}
	if dir.isRepository("") {
		return t.fail(Protected, "is protected: it is or contains the data of a git repository")
	}
	return dir.eachName(ctx, t.top.given, func(name string) error {
		info, err := dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if t.files++; t.files > maxFiles {
			return t.fail(TooLarge, "contains more than %d files", maxFiles)
		}
		if err := t.check(name, info); err != nil || !info.IsDir() {
			return err
		}
		sub, err := t.open(dir, name, info)
		if err != nil {
			return err
		}
		defer sub.Close()
		return t.survey(ctx, sub, depth+1)
	})
}

// check refuses what must not be moved or deleted: what is protected or read only by identity,
// what is protected by its name, and to delete what its owner marked as not to be changed.
func (t *tree) check(name string, info fs.FileInfo) error {
	if err := t.top.watch.refuse(t.top.given, info); err != nil {
		return err
	}
	if t.fixed.refuse(t.top.given, info) != nil {
		return t.fail(NotWritable, "contains %s, which is not writable: it says what this Expert may do or is part of a skill's program", quote(name))
	}
	switch folded := fold(name); {
	case isEnvName(folded):
		return t.fail(Protected, "is protected: it contains an env file, which may hold secrets and is out of reach of tools")
	case isGitName(folded):
		return t.fail(Protected, "is protected: it contains a git repository (%s)", quote(name))
	case !t.moves && !isLink(info) && !writable(info):
		return t.fail(NotWritable, "contains %s, which is not writable: its owner may not write it", quote(name))
	}
	return nil
}

// open opens a directory that was looked at, and nothing else that took its name since.
func (t *tree) open(dir folder, name string, seen fs.FileInfo) (folder, error) {
	t.top.workspace.trace("enter")
	sub, err := dir.step(name, seen)
	if errors.Is(err, errChanged) {
		err = t.changed()
	}
	return sub, err
}

func (t *tree) fail(code Code, format string, args ...any) error {
	return fail(code, t.top.given, format, args...)
}

// changed is for work that may have begun: errChanged would repeat the call.
func (t *tree) changed() error {
	return t.fail(Changed, "was changed by another program at the same time; look at what is left")
}

// clear deletes what is in dir. Everything was surveyed; entries that are new since are
// checked in the same way before they are deleted.
func (t *tree) clear(ctx context.Context, dir folder, depth int) error {
	for {
		// From the beginning each time: some systems skip names when others are
		// deleted while they are listed.
		names, err := someNames(dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return nil
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return interrupted(t.top.given, err)
			}
			if err := t.remove(ctx, dir, name, depth+1); err != nil {
				return err
			}
		}
	}
}

func (t *tree) remove(ctx context.Context, dir folder, name string, depth int) error {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := t.check(name, info); err != nil {
		return err
	}
	if info.IsDir() {
		if depth >= maxDepth {
			return t.changed()
		}
		sub, err := t.open(dir, name, info)
		if err != nil {
			return err
		}
		err = t.clear(ctx, sub, depth)
		sub.Close() // some systems cannot remove an open directory
		if err != nil {
			return err
		}
	}
	t.top.workspace.trace("remove")
	drop := dir.Remove
	if info.IsDir() {
		drop = dir.RemoveDir
	}
	err = drop(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		return t.changed()
	}
	return err
}

func someNames(dir folder) ([]string, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(1024)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
