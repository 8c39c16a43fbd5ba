package workspace

import (
	"context"
	"io/fs"
	"slices"
)

// A location is where a path leads. Either it is a directory (name is empty, the last of
// dirs is open on it), or it is a name in the last of dirs: a file that is not a link, or
// nothing yet (info is nil). For atName it is always a name, which can be that of a
// directory or a link.
type location struct {
	workspace *Workspace
	given     string // the path as the caller wrote it, for messages
	purpose   purpose
	moved     *location // no directory is made in this one; may be nil

	dirs     []folder   // the directories from the root of the workspace down, all open
	borrowed int        // how many of dirs belong to another location and stay open
	trail    []string   // the names of dirs after the first
	ids      []fileID   // and what they are
	near     [][]*entry // for each of dirs, what is protected there or further down
	made     bool       // directories were made on the way
	name     string
	info     fs.FileInfo
	slash    bool // the path ends in a separator, so name means a directory; only atName tells
	watch    *watch
	left     *int      // steps that may still be taken; links of one listing share them
	previous *location // the directories that the previous walk opened and this one has not left
	reused   int       // how many of them this walk uses

	// Space for a path of the usual depth, so that a walk allocates once.
	buf struct {
		dirs  [usualDepth + 1]folder
		trail [usualDepth]string
		ids   [usualDepth]fileID
		near  [usualDepth + 1][]*entry
		left  int
		watch watch
	}
}

// usualDepth is how many directories fit into the buffers of a location.
const usualDepth = 6

// start returns the root of the workspace as a location to walk from.
func (w *Workspace) start(r request) *location {
	w.trace("watch")
	p := &location{workspace: w, given: r.given, purpose: r.purpose, moved: r.moved, borrowed: 1}
	p.dirs, p.near = append(p.buf.dirs[:0], w.root), append(p.buf.near[:0], w.guard.inside)
	p.trail, p.ids = p.buf.trail[:0], p.buf.ids[:0]
	p.left, p.buf.left = &p.buf.left, maxSteps
	p.watch = &p.buf.watch
	w.guard.look(p.watch)
	if keepsDirsOpen {
		p.previous = w.last.Swap(nil)
	}
	return p
}

// sibling returns another location in the same directory to walk from, with left steps. It
// borrows the open directories, so p must be closed after it.
func (p *location) sibling(left *int) *location {
	return &location{
		workspace: p.workspace, given: p.given, dirs: slices.Clone(p.dirs), borrowed: len(p.dirs), trail: slices.Clone(p.trail),
		ids: slices.Clone(p.ids), near: slices.Clone(p.near), watch: p.watch, left: left,
	}
}

func (p *location) dir() folder { return p.dirs[len(p.dirs)-1] }

// path returns the names from the root to the location.
func (p *location) path() []string {
	if p.name == "" {
		return p.trail
	}
	return slices.Concat(p.trail, []string{p.name})
}

// down goes into a directory that was just opened.
func (p *location) down(sub folder, id fileID, name, folded string) {
	p.near = append(p.near, narrow(p.near[len(p.near)-1], len(p.trail), folded))
	p.dirs, p.trail = append(p.dirs, sub), append(p.trail, name)
	p.ids = append(p.ids, id)
}

func (p *location) up() {
	p.closePrevious()
	if len(p.dirs) > p.borrowed {
		p.dir().Close()
	}
	p.dirs = p.dirs[:len(p.dirs)-1]
	p.borrowed = min(p.borrowed, len(p.dirs)) // the next directory at this depth is ours
	p.near = p.near[:len(p.near)-1]
	p.trail, p.ids = p.trail[:len(p.trail)-1], p.ids[:len(p.ids)-1]
}

func (p *location) close() {
	p.closePrevious()
	for len(p.trail) > 0 {
		p.up()
	}
}

// spend counts one step, of need that are known to be necessary. A path that needs more
// steps than are left is refused before its first step: link targets like "x/../x/../…"
// would otherwise make each entry of a listing cost a thousand.
func (p *location) spend(ctx context.Context, need int) error {
	if err := ctx.Err(); err != nil {
		return interrupted(p.given, err)
	}
	if need > *p.left || len(p.trail) >= maxDepth {
		return fail(InvalidPath, p.given, "is not a valid path: too many directories or links in it")
	}
	*p.left--
	p.workspace.trace("step")
	return nil
}

// fold folds one name. The names above it were folded when the walk passed them, and are
// never folded again: entries of a deep directory must not cost more than others.
func (p *location) fold(name string) string {
	p.workspace.trace("fold")
	return fold(name)
}

// refuse returns the refusal for a name in the directory of the location, or nil. info is
// nil when nothing has the name, or when it is not known yet.
func (p *location) refuse(folded string, info fs.FileInfo) error {
	return p.refuseHandle(folded, identify(info), info != nil && info.IsDir())
}

// refuseHandle is refuse for what is open.
func (p *location) refuseHandle(folded string, id fileID, isDir bool) error {
	if err := p.refuseName(folded); err != nil {
		return err
	}
	return p.watch.refuseID(p.given, id, isDir)
}

func (p *location) refuseName(folded string) error {
	if isEnvName(folded) {
		return secret(p.given)
	}
	if p.purpose != reading && isGitName(folded) {
		return gitDirectory(p.given)
	}
	if looksShort(folded) && p.dir().hasShortNames() {
		return fail(InvalidPath, p.given, "is not a valid path: use the long form of the name %q", folded)
	}
	for _, e := range p.near[len(p.near)-1] {
		if len(e.location) == len(p.trail)+1 && e.location[len(p.trail)] == folded {
			return protectedBy(p.given, e.path)
		}
	}
	return nil
}

// narrow keeps the entries that a directory of that name, so deep, can contain.
func narrow(entries []*entry, depth int, folded string) []*entry {
	var kept []*entry
	for _, e := range entries {
		if len(e.location) > depth+1 && e.location[depth] == folded {
			kept = append(kept, e)
		}
	}
	return kept
}

// The directories of a walk stay open until the next one. Most calls go to the same
// directory as the call before, and checking that a name still leads to an open directory
// takes a third of the time of opening it. Nothing is assumed: while a directory is open,
// no other has its identity, so a name with that identity leads there now, and the guard
// is asked again.
//
// One walk at a time owns the handles, so no walk closes those of another. A command
// begins with a walk to its working directory, which closes all others.

// leave closes p, or keeps its directories for the next walk.
func (w *Workspace) leave(p *location) {
	p.closePrevious()
	if !keepsDirsOpen || len(p.trail) > usualDepth {
		p.close()
		return
	}
	if other := w.last.Swap(p); other != nil {
		other.close()
	}
}

// reuse returns the directory of that name and its identity, if the previous walk opened it
// and the name still leads to it.
func (p *location) reuse(name string) (folder, fileID, bool) {
	depth := len(p.trail)
	if p.previous == nil {
		return folder{}, fileID{}, false
	}
	if depth < len(p.previous.trail) && p.previous.trail[depth] == name {
		known := p.previous.ids[depth]
		if id, isDir, err := peek(p.dir(), name, false); err == nil && isDir && id.is(known) {
			p.reused++
			return p.previous.dirs[depth+1], known, true
		}
	}
	p.closePrevious()
	return folder{}, fileID{}, false
}

// closePrevious closes the directories of the previous walk that this one does not use.
func (p *location) closePrevious() {
	if p.previous == nil {
		return
	}
	for _, dir := range p.previous.dirs[1+p.reused:] {
		dir.Close()
	}
	p.previous = nil
}
