package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// A tree deletes a directory with everything in it. It goes from one open directory to the
// next and never follows a link, even if a directory is swapped for a link meanwhile.
type tree struct {
	given string
	watch *watch
	fixed *watch // of what is read only
	files int64  // seen by survey
	trace func(string)
}

// maxFiles bounds the entries of a tree, so that a call ends.
const maxFiles = 1_000_000

// survey looks at each entry below dir, which lies at path, and returns the first
// refusal. It holds one directory of each level open, and few names in memory.
func (t *tree) survey(ctx context.Context, dir folder, path []string) error {
	if len(path) >= maxDepth {
		return fail(InvalidPath, t.given, "contains directories that are nested too deep")
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return eachName(ctx, t.given, d, func(name string) error {
		info, err := dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if t.files++; t.files > maxFiles {
			return fail(TooLarge, t.given, "contains more than %d files", maxFiles)
		}
		at := append(slices.Clone(path), name)
		if err := t.check(at, info); err != nil || !info.IsDir() {
			return err
		}
		sub, err := t.open(dir, name, info)
		if err != nil {
			return err
		}
		defer sub.Close()
		return t.survey(ctx, sub, at)
	})
}

// check refuses what must not be deleted: what is protected or read only by identity,
// what is protected by its name, and what its owner marked as not to be changed.
func (t *tree) check(path []string, info fs.FileInfo) error {
	if err := t.watch.refuse(t.given, info); err != nil {
		return err
	}
	name := path[len(path)-1]
	if t.fixed.refuse(t.given, info) != nil {
		return fail(NotWritable, t.given, "contains %s, which is not writable: it says what this Expert may do", quote(name))
	}
	switch folded := fold(name); {
	case isEnvName(folded):
		return fail(Protected, t.given, "is protected: it contains an env file, which may hold secrets and is out of reach of tools")
	case isGitName(folded):
		return fail(Protected, t.given, "is protected: it contains a git repository (%s)", quote(name))
	case info.Mode()&fs.ModeSymlink == 0 && !writable(info):
		return fail(NotWritable, t.given, "contains %s, which is not writable: its owner may not write it", quote(name))
	}
	return nil
}

// open opens a directory that was looked at, and nothing else that took its name since.
func (t *tree) open(dir folder, name string, seen fs.FileInfo) (folder, error) {
	t.trace("enter")
	sub, err := dir.step(name, seen)
	if errors.Is(err, errChanged) {
		err = t.changed()
	}
	return sub, err
}

// changed is for work that may have begun: errChanged would repeat the call.
func (t *tree) changed() error {
	return fail(Changed, t.given, "was changed by another program at the same time; look at what is left")
}

// clear deletes what is in dir. Everything was surveyed; entries that are new since are
// checked in the same way before they are deleted.
func (t *tree) clear(ctx context.Context, dir folder, path []string) error {
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
				return interrupted(t.given, err)
			}
			if err := t.remove(ctx, dir, append(slices.Clone(path), name)); err != nil {
				return err
			}
		}
	}
}

func (t *tree) remove(ctx context.Context, dir folder, path []string) error {
	name := path[len(path)-1]
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := t.check(path, info); err != nil {
		return err
	}
	if info.IsDir() {
		if len(path) >= maxDepth {
			return t.changed()
		}
		sub, err := t.open(dir, name, info)
		if err != nil {
			return err
		}
		err = t.clear(ctx, sub, path)
		sub.Close() // some systems cannot remove an open directory
		if err != nil {
			return err
		}
	}
	t.trace("remove")
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
