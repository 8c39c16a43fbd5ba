package workspace

import (
	"context"
	"io/fs"
	"slices"
)

// A place is where a path led. Either it is a directory (name is empty, the last of
// dirs is open on it), or it is a name in the last of dirs: a file that is no link,
// or nothing yet (info is nil).
type place struct {
	given    string     // the path as the caller wrote it, for messages
	writing  bool       // the caller wants to change something; missing directories are made
	dirs     []folder   // the way down from the root of the workspace, all open
	borrowed int        // how many of dirs belong to somebody else and stay open
	trail    []string   // the names of dirs after the first
	ids      []fileID   // and what they are
	near     [][]*entry // for each of dirs, what is protected there or further down
	made     bool       // directories were made on the way
	name     string
	info     fs.FileInfo
	watch    *watch
	left     *int // steps that may still be taken; links of one listing share them
	trace    func(string)
	mayMake  func(path []string) error // asked before a directory is made; nil unless writing
	before   *place                    // the way of the walk before, as far as it was not left
	taken    int                       // how many directories were taken over from it

	// Room for a path of the usual depth, so that it need not be made four times.
	room struct {
		dirs  [usualDepth + 1]folder
		trail [usualDepth]string
		ids   [usualDepth]fileID
		near  [usualDepth + 1][]*entry
		left  int
		watch watch
	}
}

// usualDepth is for how many directories a walk has room from the beginning.
const usualDepth = 6

// start returns the root of the workspace as a place to walk from.
func (w *Workspace) start(given string, writing bool) *place {
	w.trace("watch")
	p := &place{given: given, writing: writing, borrowed: 1, trace: w.trace}
	p.dirs, p.near = append(p.room.dirs[:0], w.root), append(p.room.near[:0], w.guard.inside)
	p.trail, p.ids = p.room.trail[:0], p.room.ids[:0]
	p.left, p.room.left = &p.room.left, maxSteps
	p.watch = &p.room.watch
	w.guard.look(p.watch)
	if writing {
		p.mayMake = func(path []string) error { return w.refuseMaking(given, path) }
	}
	w.take(p)
	return p
}

// beside returns another place in the same directory to walk from, with left steps. It
// borrows the open directories, so p must be closed after it.
func (p *place) beside(left *int) *place {
	return &place{
		given: p.given, dirs: slices.Clone(p.dirs), borrowed: len(p.dirs), trail: slices.Clone(p.trail), ids: slices.Clone(p.ids),
		near: slices.Clone(p.near), watch: p.watch, left: left, trace: p.trace,
	}
}

func (p *place) dir() folder { return p.dirs[len(p.dirs)-1] }

// path returns the names from the root to the place.
func (p *place) path() []string {
	if p.name == "" {
		return p.trail
	}
	return slices.Concat(p.trail, []string{p.name})
}

// down goes into a directory that was just opened.
func (p *place) down(sub folder, id fileID, name, folded string) {
	p.near = append(p.near, narrow(p.near[len(p.near)-1], len(p.trail), folded))
	p.dirs, p.trail = append(p.dirs, sub), append(p.trail, name)
	p.ids = append(p.ids, id)
}

func (p *place) up() {
	p.forget()
	if len(p.dirs) > p.borrowed {
		p.dir().Close()
	}
	p.dirs = p.dirs[:len(p.dirs)-1]
	p.borrowed = min(p.borrowed, len(p.dirs)) // what is opened in its stead is ours
	p.near = p.near[:len(p.near)-1]
	p.trail, p.ids = p.trail[:len(p.trail)-1], p.ids[:len(p.ids)-1]
}

func (p *place) close() {
	p.forget()
	for len(p.trail) > 0 {
		p.up()
	}
}

// spend pays for one step out of need that are known to be necessary. A path that
// cannot be walked to its end is refused before its first step: link targets like
// "x/../x/../…" would otherwise make each entry of a listing cost a thousand.
func (p *place) spend(ctx context.Context, need int) error {
	if err := ctx.Err(); err != nil {
		return interrupted(p.given, err)
	}
	if need > *p.left || len(p.trail) >= maxDepth {
		return fail(InvalidPath, p.given, "is not a valid path: too many directories or links in it")
	}
	*p.left--
	p.trace("step")
	return nil
}

// fold folds one name. The names above it were folded when the walk passed them, and
// are never folded again: a deep directory must not make each of its entries dear.
func (p *place) fold(name string) string {
	p.trace("fold")
	return fold(name)
}

// refuse returns the refusal for a name in the place's directory, or nil. info is nil
// when nothing is there, or when it is not known yet.
func (p *place) refuse(folded string, info fs.FileInfo) error {
	if err := p.refuseName(folded); err != nil {
		return err
	}
	return p.watch.refuse(p.given, info)
}

// refuseFound is refuse for what is open.
func (p *place) refuseFound(folded string, id fileID, isDir bool) error {
	if err := p.refuseName(folded); err != nil {
		return err
	}
	return p.watch.refuseID(p.given, id, isDir)
}

func (p *place) refuseName(folded string) error {
	if isEnvName(folded) {
		return secret(p.given)
	}
	if p.writing && isGitName(folded) {
		return gitDirectory(p.given)
	}
	if looksShort(folded) && p.dir().hasShortNames() {
		return fail(InvalidPath, p.given, "is not a valid path: use the long form of the name %q", folded)
	}
	for _, e := range p.near[len(p.near)-1] {
		if len(e.place) == len(p.trail)+1 && e.place[len(p.trail)] == folded {
			return protectedBy(p.given, e.path)
		}
	}
	return nil
}

// narrow keeps the entries that a directory of that name, so deep, can contain.
func narrow(entries []*entry, depth int, folded string) []*entry {
	var kept []*entry
	for _, e := range entries {
		if len(e.place) > depth+1 && e.place[depth] == folded {
			kept = append(kept, e)
		}
	}
	return kept
}
