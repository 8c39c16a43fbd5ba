package workspace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
)

// A dirEntry is one name in a directory. A link is not followed: deleting or moving "link"
// means the link and not its target.
type dirEntry struct {
	in    *location // the directory; its name is empty
	name  string
	info  fs.FileInfo // nil when nothing is there
	slash bool        // the path ended in a separator, so it means a directory
	given string
}

func (n *dirEntry) path() []string { return append(slices.Clone(n.in.path()), n.name) }

// look looks at the name again: it may have changed while the call waited for a lock.
func (n *dirEntry) look() error {
	info, err := n.in.dir().Lstat(n.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	}
	n.info = info
	return n.in.refuse(fold(n.name), info)
}

// same returns errChanged unless the name still leads to what was seen.
func (n *dirEntry) same(seen fs.FileInfo) error {
	now, err := n.in.dir().Lstat(n.name)
	if err != nil || !sameKind(now, seen) {
		return errChanged
	}
	return nil
}

// atName walks to the directory that name is in and calls do with the name itself. It
// makes nothing on the way, and refuses what must not be changed. As with walkTo, do may be
// called again, so it must check before it changes anything.
func (w *Workspace) atName(ctx context.Context, name string, do func(*dirEntry) error) error {
	r, err := w.split(name, changing)
	if err != nil {
		return err
	}
	steps, slash := r.steps, r.wantDir
	if len(steps) > 0 && steps[len(steps)-1].name == ".." {
		// Only a walk can tell the name of a path that ends in "..". That name is then walked
		// to like one that was given, and so checked again.
		err := w.walkTo(ctx, r, func(p *location) error {
			steps, slash = stepsTo(p.path()), true
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(steps) == 0 {
		e := fail(Protected, name, "is protected: it is the workspace itself")
		e.cause = errRoot
		return e
	}
	last := len(steps) - 1
	r.steps, r.wantDir = steps[:last], true
	return w.walkTo(ctx, r, func(p *location) error {
		n := &dirEntry{in: p, name: steps[last].name, slash: slash, given: name}
		if err := n.look(); err != nil {
			return err
		}
		if err := w.refuseChange(name, n.path(), n.info); err != nil {
			return err
		}
		return do(n)
	})
}

var errRoot = errors.New("the root of the workspace")

func isRoot(err error) bool { return errors.Is(err, errRoot) }

// refuseChange refuses to change the files that say what an Expert may do, and what leads
// there. The walk has refused what is below a .git.
func (w *Workspace) refuseChange(given string, path []string, info fs.FileInfo) error {
	if w.fixed.covers(path, info) {
		return readOnly(given)
	}
	if info != nil && info.IsDir() {
		return nil // code that removes or moves it calls refuseRoute
	}
	return w.refuseRoute(given, path)
}

// refuseRoute refuses to remove, move or make what a protected path goes through: another
// directory or link in its place would redirect the path that the runtime trusts.
func (w *Workspace) refuseRoute(given string, path []string) error {
	folded := foldAll(path)
	if e, end := w.guard.stopAt(folded); end {
		return protectedBy(given, e.path)
	} else if e != nil {
		return fail(Protected, given, "is protected: it leads to something that is out of reach of tools")
	}
	if e, end := w.fixed.stopAt(folded); end {
		return readOnly(given)
	} else if e != nil {
		return fail(NotWritable, given, "is not writable: it leads to what says what this Expert may do")
	}
	return nil
}

// refuseMaking refuses to make a directory for a new file if a protected path goes through
// it. The error is about the file, so it names the directory.
func (w *Workspace) refuseMaking(given string, path []string) error {
	var e *Error
	if !errors.As(w.refuseRoute(given, path), &e) {
		return nil
	}
	return fail(e.Code, given, "cannot be written: its directory %s does not exist, and tools may not make it: it leads to something that is out of reach of tools", quote(path[len(path)-1]))
}

func readOnly(given string) error {
	return fail(NotWritable, given, "is not writable: it says what this Expert may do, so only the user changes it")
}
