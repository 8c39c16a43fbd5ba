package workspace

import (
	"io/fs"
	"slices"
)

// A watch is what a guard saw at the beginning of one operation.
type watch struct {
	seen []fileID
	held []hold
	buf  [8]fileID // for seen
}

// A hold recognises a protected directory after it was renamed: a command can run
// "mv perstack moved". It is kept open, so that its inode number is not reused when it is
// removed, and so that its journals can still be found.
type hold struct {
	id     fileID
	dir    folder
	opened bool // false when it cannot be opened
	jobs   bool // it is the directory of the jobs
}

const (
	// maxHeld bounds the directories that are kept when a command renames them in a loop.
	// The first ones seen are those that the runtime writes to.
	maxHeld = 16
	// jobsName is where the storage keeps its jobs; see store/file.
	jobsName = "jobs"
)

// watch looks at the protected paths as they are now. Files are replaced (an editor writes
// a new env file), so their identities are kept for one operation only. Directories that
// were seen once are kept until the workspace is closed.
func (g *guard) watch() *watch {
	now := &watch{}
	g.look(now)
	return now
}

func (g *guard) look(now *watch) {
	now.seen, now.held = now.buf[:0], g.known()
	for _, e := range g.entries {
		id, isDir, err := e.look()
		if err != nil {
			continue
		}
		now.seen = append(now.seen, id)
		if !isDir {
			continue
		}
		if !holds(now.held, id) {
			now.held = g.hold(e.from, e.name, id, false)
		}
		// "jobs" is looked at by itself: a command could move it alone.
		if id, isDir, err := peek(e.from, e.jobs, false); err == nil && isDir {
			now.seen = append(now.seen, id)
			if !holds(now.held, id) {
				now.held = g.hold(e.from, e.jobs, id, true)
			}
		}
	}
}

func (g *guard) known() []hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// hold keeps the directory that was seen at a path, and returns all that are kept.
func (g *guard) hold(from folder, path string, seen fileID, jobs bool) []hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.held) >= maxHeld || holds(g.held, seen) {
		return g.held
	}
	h := hold{id: seen, jobs: jobs}
	if dir, err := openAt(from, path); err == nil {
		if now, err := dir.Stat("."); err == nil && identify(now).is(seen) {
			h.dir, h.opened = dir, true
		} else {
			dir.Close()
		}
	}
	// Watches read the old list without a lock, so it is not changed.
	g.held = append(slices.Clip(g.held), h)
	return g.held
}

func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.held {
		if h.opened {
			h.dir.Close()
		}
	}
	g.held, g.closed = nil, true
}

// refuse returns the refusal for what info describes, or nil.
func (w *watch) refuse(given string, info fs.FileInfo) error {
	return w.refuseID(given, identify(info), info != nil && info.IsDir())
}

func (w *watch) refuseID(given string, id fileID, isDir bool) error {
	for _, known := range w.seen {
		if known.is(id) {
			if isDir {
				return storage(given)
			}
			return secret(given)
		}
	}
	if holds(w.held, id) {
		return storage(given)
	}
	return nil
}

func holds(held []hold, id fileID) bool {
	for _, h := range held {
		if h.id.is(id) {
			return true
		}
	}
	return false
}

// sameFile reports whether two infos describe one file.
func sameFile(a, b fs.FileInfo) bool { return identify(a).is(identify(b)) }

func isLink(info fs.FileInfo) bool { return info != nil && info.Mode()&fs.ModeSymlink != 0 }
