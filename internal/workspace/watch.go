package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A watch is what a guard saw for one operation.
type watch struct {
	infos []fs.FileInfo
	held  []hold
}

// A hold keeps a protected directory known after it was renamed: a command can do
// "mv perstack moved". It is open, so that its number cannot pass to another directory
// when it is removed, and so that its journals can still be found.
type hold struct {
	info fs.FileInfo
	root *os.Root // nil when it cannot be opened
	jobs bool     // it is the directory of the jobs
}

const (
	// maxHeld bounds what renaming in a loop can make us keep. The first directories
	// seen are those that the runtime writes to.
	maxHeld = 16
	// jobsName is where the storage keeps its jobs; see store/file.
	jobsName = "jobs"
)

// watch takes a look at the protected paths as they are now. Files come and go (an
// editor replaces an env file by a new one), so their identities are not kept longer
// than one operation. Directories that were seen once are kept for good.
func (g *guard) watch() *watch {
	now := &watch{}
	for _, e := range g.entries {
		info, err := e.look()
		if err != nil {
			continue
		}
		now.infos = append(now.infos, info)
		if !info.IsDir() {
			continue
		}
		g.hold(e.path, info, false)
		// Its own look at "jobs": by moving only that, a command would get round us.
		jobs := filepath.Join(e.path, jobsName)
		if info, err := os.Lstat(jobs); err == nil && info.IsDir() {
			g.hold(jobs, info, true)
			now.infos = append(now.infos, info)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now.held = slices.Clone(g.held)
	return now
}

// hold keeps the directory that was seen at path, if it is a new one.
func (g *guard) hold(path string, seen fs.FileInfo, jobs bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := func(h hold) bool { return os.SameFile(h.info, seen) }
	if g.closed || len(g.held) >= maxHeld || slices.ContainsFunc(g.held, known) {
		return
	}
	h := hold{info: seen, jobs: jobs}
	// With "/." a pipe that was put there since does not block us.
	if root, err := os.OpenRoot(path + "/."); err == nil {
		if now, err := root.Stat("."); err == nil && os.SameFile(now, seen) {
			h.root = root
		} else {
			root.Close()
		}
	}
	g.held = append(g.held, h)
}

func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.held {
		if h.root != nil {
			h.root.Close()
		}
	}
	g.held, g.closed = nil, true
}

// refuse returns the refusal for what info describes, or nil.
func (w *watch) refuse(given string, info fs.FileInfo) error {
	if info == nil {
		return nil
	}
	for _, known := range w.infos {
		if os.SameFile(known, info) {
			if info.IsDir() {
				return storage(given)
			}
			return secret(given)
		}
	}
	for _, h := range w.held {
		if os.SameFile(h.info, info) {
			return storage(given)
		}
	}
	return nil
}
