package workspace

import (
	"context"
	"errors"
	"slices"
)

// MakeDir makes a directory, and the directories on the way to it. It returns the
// absolute path.
func (w *Workspace) MakeDir(ctx context.Context, name string) (path string, err error) {
	done, err := w.begin(ctx, name, false)
	if err != nil {
		return "", err
	}
	defer done()
	err = w.atNewName(ctx, name, nil, func(p *location) error {
		if err := p.mkdir(ctx, p.name); err != nil {
			return err
		}
		p.made = true
		p.syncDirs()
		path = p.absolute()
		return nil
	})
	return path, err
}

// mkdir makes a directory in that of the location.
func (p *location) mkdir(ctx context.Context, name string) error {
	path := p.path()
	if p.name == "" {
		path = append(path, name)
	}
	done, err := p.workspace.locks.claim(ctx, path)
	if err != nil {
		return interrupted(p.given, err)
	}
	defer done()
	if err := p.refuseNewRepository(name); err != nil {
		return err
	}
	return p.dir().Mkdir(name, 0o777) // minus the user's umask
}

// atNewName calls do with the location of a name that is free. Missing directories are
// made, but none in the directory that is moved there, if any. The name may be taken before
// do acts, so do must not replace anything.
func (w *Workspace) atNewName(ctx context.Context, name string, moved *location, do func(*location) error) error {
	// First a look that makes nothing. It also finds dangling links, which the walk of a
	// writer reports as an error.
	err := w.atName(ctx, name, func(p *location) error {
		if p.info != nil {
			return fail(AlreadyExists, name, "already exists")
		}
		return nil
	})
	if errors.Is(err, errRoot) {
		return fail(AlreadyExists, name, "already exists")
	}
	if err != nil && !hasCode(err, NotFound) {
		return err
	}
	r, err := w.split(name, making)
	if err != nil {
		return err
	}
	if up := lastUp(r.steps); up > 0 {
		// A directory before ".." must exist: it is not made only to be left again.
		back := request{given: name, steps: r.steps[:up], wantDir: true, purpose: changing}
		if err := w.walkTo(ctx, back, func(*location) error { return nil }); err != nil {
			return err
		}
	}
	if depthOf(r.steps) > maxDepth { // the walk would notice after it made the first of them
		return fail(InvalidPath, name, "is not a valid path: too many directories or links in it")
	}
	r.wantDir, r.moved = false, moved // a separator at the end would ask for a directory
	return w.walkTo(ctx, r, func(p *location) error {
		if p.name == "" || p.info != nil {
			return fail(AlreadyExists, name, "already exists")
		}
		if err := p.refuseChange(); err != nil {
			return err
		}
		if err := p.writableDir(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return interrupted(name, err)
		}
		return do(p)
	})
}

// lastUp returns how many steps there are up to the last "..", and 0 when there is none.
func lastUp(steps []step) int {
	for i, s := range slices.Backward(steps) {
		if s.name == ".." {
			return i + 1
		}
	}
	return 0
}

// depthOf counts the directories that a path, as it is written, goes down.
func depthOf(steps []step) int {
	depth := 0
	for _, s := range steps {
		if s.name == ".." {
			depth--
		} else {
			depth++
		}
	}
	return depth
}
