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

	dirs     []walkedDir // from the root of the workspace down
	borrowed int         // how many of dirs belong to another location and stay open
	made     bool        // directories were made on the way
	name     string
	info     fs.FileInfo
	slash    bool // the path ends in a separator, so name means a directory; only atName tells
	watch    *watch
	left     *int      // steps that may still be taken; links of one listing share them
	previous *location // the directories that the previous walk opened and this one has not left
	reused   int       // how many of them this walk uses

	// Space for a path of the usual depth, so that a walk allocates once.
	buf struct {
		dirs  [usualDepth + 1]walkedDir
		left  int
		watch watch
	}
}

// A walkedDir is an open directory that a walk went into.
type walkedDir struct {
	folder folder
	name   string   // empty for the root of the workspace
	id     fileID   // unknown for the root of the workspace
	near   []*entry // what is protected there or further down
}

// usualDepth is how many directories fit into the buffers of a location.
const usualDepth = 6

// start returns the root of the workspace as a location to walk from.
func (w *Workspace) start(r request) *location {
	w.trace("watch")
	p := &location{workspace: w, given: r.given, purpose: r.purpose, moved: r.moved, borrowed: 1}
	p.dirs = append(p.buf.dirs[:0], walkedDir{folder: w.root, near: w.guard.inside})
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
		workspace: p.workspace, given: p.given, dirs: slices.Clone(p.dirs), borrowed: len(p.dirs), watch: p.watch, left: left,
	}
}

func (p *location) dir() folder { return p.dirs[len(p.dirs)-1].folder }

// depth returns how many directories the location is below the root.
func (p *location) depth() int { return len(p.dirs) - 1 }

// path returns the names from the root to the location.
func (p *location) path() []string {
	names := make([]string, 0, len(p.dirs))
	for _, dir := range p.dirs[1:] {
		names = append(names, dir.name)
	}
	if p.name != "" {
		names = append(names, p.name)
	}
	return names
}

// down goes into a directory that was just opened.
func (p *location) down(sub folder, id fileID, name, folded string) {
	p.dirs = append(p.dirs, walkedDir{sub, name, id, narrow(p.dirs[p.depth()].near, p.depth(), folded)})
}

func (p *location) up() {
	p.closePrevious()
	if len(p.dirs) > p.borrowed {
		p.dir().Close()
	}
	p.dirs = p.dirs[:len(p.dirs)-1]
	p.borrowed = min(p.borrowed, len(p.dirs)) // the next directory at this depth is ours
}

func (p *location) close() {
	p.closePrevious()
	for p.depth() > 0 {
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
	if need > *p.left || p.depth() >= maxDepth {
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
	for _, e := range p.dirs[p.depth()].near {
		if len(e.location) == p.depth()+1 && e.location[p.depth()] == folded {
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
	if !keepsDirsOpen || p.depth() > usualDepth {
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
	if p.previous == nil {
		return folder{}, fileID{}, false
	}
	if next := len(p.dirs); next < len(p.previous.dirs) && p.previous.dirs[next].name == name {
		known := p.previous.dirs[next]
		if id, isDir, err := peek(p.dir(), name, false); err == nil && isDir && id.is(known.id) {
			p.reused++
			return known.folder, known.id, true
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
		dir.folder.Close()
	}
	p.previous = nil
}
