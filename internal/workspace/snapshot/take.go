package snapshot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/opendir"
)

// Options say what a snapshot captures.
type Options struct {
	Exclude      func(path string) bool // paths that are not captured, with slashes; can be nil
	Readable     func(path string) bool // paths that are made readable while they are read; nil for none
	EnvFiles     bool                   // capture env files: programs can change them
	MaxFileBytes int64                  // a larger file is not captured
	MaxBytes     int64                  // how much a snapshot reads, beginning with the smallest files
	MaxGrowth    int64                  // bytes that the store can grow by, by all snapshots of a Taker; 0 for any number
	MaxEntries   int
	MaxDepth     int
	MaxTime      time.Duration

	clock func() time.Time // of a test; nil for the system's
}

func (o *Options) excludes(dir, name string) bool {
	return o.Exclude != nil && o.Exclude(join(dir, name))
}

// Defaults returns the options that hold if the user sets none.
func Defaults() Options {
	return Options{
		MaxFileBytes: 64 << 20, MaxBytes: 512 << 20, MaxEntries: 200_000, MaxDepth: 256, MaxTime: 30 * time.Second,
	}
}

// A Snapshot is the state of a workspace.
type Snapshot struct {
	Tree       ID
	Entries    int
	Read       int       // how many files were read
	Stored     int64     // bytes that the store grew by
	Skipped    []Skipped // the first of those that are not captured because of a limit or an error
	SkippedAll int       // how many there are
	Torn       []string  // files that changed while they were read
	HardLinks  int       // files with several names; each is captured for itself
	GitOutside bool      // the repository lies elsewhere: .git is a file
	Incomplete string    // entries, depth or time: not everything was looked at
}

// Skipped is what a snapshot could not capture. Restoring leaves it alone.
type Skipped struct{ Path, Why string }

// maxNamed bounds how many paths a snapshot names.
const maxNamed = 100

func (s *Snapshot) skip(path, why string) {
	if s.SkippedAll++; len(s.Skipped) < maxNamed {
		s.Skipped = append(s.Skipped, Skipped{path, why})
	}
}

// A Taker takes snapshots of one workspace. Its methods can be called at the same time; snapshots
// are taken one after the other.
type Taker struct {
	store   *Store
	dir     string
	options Options

	mu      sync.Mutex
	last    *node // what was seen last
	loaded  bool
	unsaved bool
	grown   int64 // bytes that the store grew by
}

// Taker returns a Taker for the workspace in a directory.
func (s *Store) Taker(dir string, o Options) *Taker { return &Taker{store: s, dir: dir, options: o} }

// Stamp returns the stamp that a path had when the last snapshot was taken.
func (t *Taker) Stamp(path string) (stamp opendir.Stamp, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.last
	for name := range strings.SplitSeq(path, "/") {
		n = n.child(name)
	}
	if n == nil {
		return stamp, false
	}
	return n.stamp, true
}

// Close saves what was seen, so that a later process need not read the files again.
func (t *Taker) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.save()
}

// Take stores the present state of the workspace. When it returns, the snapshot survives a power cut.
func (t *Taker) Take(ctx context.Context) (Snapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	snapshot, err := t.take(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("take a snapshot of %s: %w", t.dir, err)
	}
	return snapshot, nil
}

func (t *Taker) take(ctx context.Context) (snapshot Snapshot, err error) {
	if !t.loaded {
		if err := t.load(); err != nil {
			return Snapshot{}, err
		}
	}
	root, err := opendir.Open(t.dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer root.Close()
	self, err := root.Self()
	if err != nil {
		return Snapshot{}, err
	}
	names, err := root.Names()
	if err != nil {
		return Snapshot{}, err
	}
	slices.Sort(names)
	s := newScan(&t.options, &snapshot, self.Stamp.Device)
	defer func() { err = errors.Join(err, s.closeAgain(root)) }()
	now := &node{entry: Entry{Kind: Directory, Mode: self.Mode}}
	if err := s.directory(ctx, root, "", names, place{}, t.last, now, 0); err != nil {
		return Snapshot{}, err
	}
	w := &writing{store: t.store, root: root, scan: s, space: math.MaxInt64}
	if t.options.MaxGrowth > 0 {
		w.space = t.options.MaxGrowth - t.grown
	}
	defer w.end()
	if err := w.contents(ctx); err != nil {
		return Snapshot{}, err
	}
	if err := w.tree(now, t.last); err != nil {
		return Snapshot{}, err
	}
	if snapshot.Stored, err = w.commit(); err != nil {
		return Snapshot{}, err
	}
	t.grown += snapshot.Stored
	snapshot.Tree = now.entry.ID
	first := t.last == nil
	t.unsaved = t.unsaved || first || snapshot.Read > 0 || t.last.entry.ID != now.entry.ID
	t.last = now
	if first {
		err = t.save() // reading everything again would take long
	}
	return snapshot, err
}
