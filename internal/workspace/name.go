package workspace

import (
	"context"
	"errors"
	"io/fs"
)

// atName walks to the directory that name is in and calls do with the name itself. A link is
// not followed: deleting or moving "link" means the link and not its target. It makes nothing
// on the way, and refuses what must not be changed. As with walkTo, do may be called again,
// so it must check before it changes anything.
func (w *Workspace) atName(ctx context.Context, name string, do func(*location) error) error {
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
		p.name, p.slash = steps[last].name, slash
		if err := p.look(); err != nil {
			return err
		}
		if err := p.refuseChange(); err != nil {
			return err
		}
		return do(p)
	})
}

// look looks at the name of the location, without following a link.
func (p *location) look() error {
	info, err := p.dir().Lstat(p.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.info = info
	return p.refuse(fold(p.name), info)
}

var errRoot = errors.New("the root of the workspace")

// refuseChange refuses to change the files that say what an Expert may do, the programs of
// skills, and what leads there, and to make what would complete a repository. The walk has
// refused what is in one.
func (p *location) refuseChange() error {
	path := p.path()
	if p.workspace.fixed.covers(path, p.info) || p.isInFixed(path) || p.isNameOfFixed() {
		return readOnly(p.given)
	}
	if p.info != nil && p.info.IsDir() {
		return nil // code that removes or moves it calls refuseRoute
	}
	if p.info == nil {
		if err := p.refuseNewRepository(p.name); err != nil {
			return err
		}
	}
	return p.refuseRoute(path)
}

// refuseRoute refuses to remove, move or make what a protected path goes through: another
// directory or link in its place would redirect the path that the runtime trusts.
func (p *location) refuseRoute(path []string) error {
	folded := foldAll(path)
	if e, end := p.workspace.guard.stopAt(folded); end {
		return protectedBy(p.given, e.path)
	} else if e != nil {
		return fail(Protected, p.given, "is protected: it leads to something that is out of reach of tools")
	}
	if e, end := p.workspace.fixed.stopAt(folded); end {
		return readOnly(p.given)
	} else if e != nil {
		return fail(NotWritable, p.given, "is not writable: it leads to what says what this Expert may do, or to a skill's program")
	}
	return nil
}

// refuseMaking refuses to make a directory for a new file if a protected path goes through
// it. The error is about the file, so it names the directory.
func (p *location) refuseMaking(name string) error {
	if p.moved != nil && p.isIn(p.moved) {
		return intoItself(p.moved.given)
	}
	path := append(p.path(), name)
	if p.isInFixed(path) {
		return readOnly(p.given)
	}
	e, refused := errors.AsType[*Error](p.refuseRoute(path))
	if !refused {
		return nil
	}
	return fail(e.Code, p.given, "cannot be written: its directory %s does not exist, and tools may not make it: it leads to something that is out of reach of tools", quote(name))
}

func readOnly(given string) error {
	return fail(NotWritable, given, "is not writable: it says what this Expert may do or is part of a skill's program, so only the user changes it")
}
