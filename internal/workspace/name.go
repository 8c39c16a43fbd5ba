package workspace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// A named is one name in a directory, looked at itself: a link is not followed. Who
// deletes or moves "link" means the link, and its target is none of their business.
type named struct {
	in    *place // the directory; its name is empty
	name  string
	info  fs.FileInfo // nil when nothing is there
	slash bool        // the path ended in a separator, so it means a directory
	given string
}

func (n *named) path() []string { return append(slices.Clone(n.in.path()), n.name) }

// look looks again: while the call waited for its turn, others changed things.
func (n *named) look() error {
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

// same reports errChanged unless the name still stands for what was looked at.
func (n *named) same(seen fs.FileInfo) error {
	now, err := n.in.dir().Lstat(n.name)
	if err != nil || !sameKind(now, seen) {
		return errChanged
	}
	return nil
}

// atName walks to the directory that name is in and calls do with the name itself. It
// makes nothing on the way, and refuses what must not be changed. As with [Workspace.at],
// do may be called again, so it must check before it changes anything.
func (w *Workspace) atName(ctx context.Context, name string, do func(*named) error) error {
	steps, slash, err := w.split(name, true)
	if err != nil {
		return err
	}
	path := stepNames(steps)
	if len(path) > 0 && path[len(path)-1] == ".." {
		// What a name that ends so is called, only a walk can tell. The name that it
		// finds is walked to like one that was given, and so checked once more.
		err := w.at(ctx, name, false, func(p *place) error {
			path, slash = slices.Clone(p.path()), true
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(path) == 0 {
		e := fail(Protected, name, "is protected: it is the workspace itself")
		e.cause = errRoot
		return e
	}
	last := len(path) - 1
	parent := "./" + strings.Join(path[:last], "/") + "/" // a directory, or the walk fails
	var own error                                         // what do said is about the right name already
	err = w.at(ctx, parent, false, func(p *place) error {
		n := &named{in: p, name: path[last], slash: slash, given: name}
		if err := n.look(); err != nil {
			return translate(name, err, true)
		}
		if err := w.refuseChange(name, n.path(), n.info); err != nil {
			return err
		}
		own = translate(name, do(n), true)
		return own
	})
	if errors.Is(err, own) {
		return err
	}
	var e *Error
	if errors.As(err, &e) && e.Code == NotReadable { // who may not look into a directory may not change it
		return fail(NotWritable, name, "is not writable: a directory on the way to it cannot be opened")
	}
	return retitle(err, parent, name)
}

var errRoot = errors.New("the root of the workspace")

func isRoot(err error) bool { return errors.Is(err, errRoot) }

// refuseChange refuses to change what is below a .git, what says what an Expert may do,
// and what leads there. The walk of a writer refuses the first itself; that of others
// does not.
func (w *Workspace) refuseChange(given string, path []string, info fs.FileInfo) error {
	for _, name := range path {
		if isGitName(fold(name)) {
			return gitDirectory(given)
		}
	}
	if w.fixed.covers(path, info) {
		return readOnly(given)
	}
	if info != nil && info.IsDir() {
		return nil // who takes it away asks refuseWay; others change nothing about it
	}
	return w.refuseWay(given, path)
}

// refuseWay refuses to take away, or to make, what lies on the way to something
// protected: by another directory or link in its place the path that the runtime trusts
// would lead elsewhere.
func (w *Workspace) refuseWay(given string, path []string) error {
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

// refuseMaking refuses to make a directory for a file that is to be written, if that is
// on such a way. It is given with the path of the file, so it is named.
func (w *Workspace) refuseMaking(given string, path []string) error {
	var e *Error
	if !errors.As(w.refuseWay(given, path), &e) {
		return nil
	}
	return fail(e.Code, given, "cannot be written: its directory %s does not exist, and only the user makes it: it leads to something that is out of reach of tools", quote(path[len(path)-1]))
}

func readOnly(given string) error {
	return fail(NotWritable, given, "is not writable: it says what this Expert may do, so only the user changes it")
}

func stepNames(steps []step) []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.name
	}
	return names
}

// refuseParent refuses a change of the names in a directory that the user marked as not
// to be changed.
func refuseParent(p *place, given string) error {
	info, err := p.dir().Stat(".")
	if err != nil {
		return err
	}
	if !writable(info) {
		return fail(NotWritable, given, "cannot be changed: its directory is not writable")
	}
	return nil
}

// retitle makes an error about the path that was walked one about the name that the
// caller gave.
func retitle(err error, walked, given string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	about := *e
	about.Message = strings.Replace(e.Message, quote(walked), quote(given), 1)
	return &about
}
