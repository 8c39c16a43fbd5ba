package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sort"
	"time"

	"github.com/perstack-go/perstack/internal/opendir"
)

// A node is an entry as it was seen, with what tells whether it has changed since.
type node struct {
	entry    Entry
	stamp    opendir.Stamp
	unsure   bool   // the file can have changed again without another stamp, so it has to be read
	children []node // of a directory, in the order of their names
}

// child returns the node of a name, nil if there is none.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	i := sort.Search(len(n.children), func(i int) bool { return n.children[i].entry.Name >= name })
	if i == len(n.children) || n.children[i].entry.Name != name {
		return nil
	}
	return &n.children[i]
}

// inOrder returns the children of a directory, to be found in the order of their names.
func (n *node) inOrder() *inOrder {
	if n == nil {
		return &inOrder{}
	}
	return &inOrder{n.children}
}

// inOrder are nodes that are found in the order of their names. For all names of a large directory, that
// is faster than a search for each.
type inOrder struct{ rest []node }

// find returns the node of a name that comes after those that were looked for before; nil if there is
// none.
func (o *inOrder) find(name string) *node {
	for len(o.rest) > 0 && o.rest[0].entry.Name < name {
		o.rest = o.rest[1:]
	}
	if len(o.rest) == 0 || o.rest[0].entry.Name != name {
		return nil
	}
	return &o.rest[0]
}

// lists reports whether a directory, whose tree is stored, has the same entries as another one.
func (n *node) lists(other *node) bool {
	if n == nil || n.entry.Kind != other.entry.Kind || n.entry.ID == (ID{}) || len(n.children) != len(other.children) {
		return false
	}
	for i := range n.children {
		if n.children[i].entry != other.children[i].entry {
			return false
		}
	}
	return true
}

// settled is how old a change must be for its stamp to be trusted: the clock of a file system moves
// in steps, and a second change in the same step leaves the same stamp.
const settled = 2 * time.Second

// A scan looks at all names of a workspace, and reads no file.
type scan struct {
	options *Options
	result  *Snapshot
	device  uint64
	young   int64 // what changed after this has to be read again
	ends    time.Time
	pending []pendingFile
	opened  []closedDir
	ticks   int
}

func newScan(o *Options, result *Snapshot, device uint64) *scan {
	begin := time.Now()
	seen := begin
	if o.clock != nil {
		seen = o.clock()
	}
	return &scan{options: o, result: result, device: device, young: seen.Add(-settled).UnixNano(), ends: begin.Add(o.MaxTime)}
}

// A pendingFile has to be read.
type pendingFile struct {
	dir  string // its directory, relative to the workspace
	node *node
}

// directory looks at an open directory. last is what it was when it was seen last, nil if it is new.
func (s *scan) directory(ctx context.Context, d opendir.Dir, path string, names []string, at place, last, now *node, depth int) error {
	now.children = make([]node, 0, len(names))
	before := last.inOrder()
	for _, name := range names {
		if err := s.tick(ctx); err != nil {
			return err
		}
		info, err := d.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return &unreadableError{err}
		}
		now.children = append(now.children, s.seen(path, name, info, at, names, before.find(name)))
	}
	for i := range now.children {
		child := &now.children[i]
		if (child.entry.Kind == File || child.entry.Kind == Link) && child.entry.Captured() && child.entry.ID == (ID{}) {
			s.pending = append(s.pending, pendingFile{path, child})
		}
	}
	before = last.inOrder()
	for i := range now.children {
		child := &now.children[i]
		if child.entry.Kind != Directory || !child.entry.Captured() {
			continue
		}
		if err := s.enter(ctx, d, join(path, child.entry.Name), at, before.find(child.entry.Name), child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// seen makes a node of what has a name in a directory. Most need no path, so it is not made here.
func (s *scan) seen(dir, name string, info opendir.Info, at place, siblings []string, was *node) node {
	n := node{entry: Entry{Name: name, Kind: info.Kind, Mode: info.Mode}, stamp: info.Stamp}
	s.result.Entries++
	if dir == "" && name == ".git" && info.Kind == File {
		s.result.GitOutside = true
	}
	switch {
	case s.result.Entries > s.options.MaxEntries:
		n.entry.Flags = NotCaptured
		s.result.Incomplete = "entries"
	case info.Kind == Other:
	case info.Stamp.Device != s.device:
		n.entry.Kind = Other // of another file system
	case s.options.excludes(dir, name) || at.leavesOut(name, info.Kind, siblings) && !wasCaptured(was):
		n.entry.Flags = NotCaptured
	case info.Kind == File:
		s.file(dir, &n, info, at)
	}
	if n.entry.Captured() && was.holds(&n) {
		n.entry.ID, n.entry.Flags = was.entry.ID, was.entry.Flags
	}
	n.unsure = n.stamp.Modified > s.young || n.stamp.Changed > s.young
	return n
}

// wasCaptured reports whether a directory was captured last time. It stays so, or a job could keep
// its changes from being undone by a name that excludes the directory.
func wasCaptured(was *node) bool {
	return was != nil && was.entry.Kind == Directory && was.entry.Captured()
}

// holds reports whether a file or a link is still what it was.
func (n *node) holds(now *node) bool {
	return n != nil && n.stamp == now.stamp && !n.unsure && n.entry.Captured() &&
		n.entry.Kind == now.entry.Kind && n.entry.Kind != Directory && n.entry.Size == now.entry.Size
}

func (s *scan) file(dir string, n *node, info opendir.Info, at place) {
	n.entry.Size = info.Size
	if info.Names > 1 {
		s.result.HardLinks++
	}
	if at.isPrivate(n.entry.Name) {
		n.entry.Flags |= Private
		if !s.options.EnvFiles {
			n.entry.Flags |= NotCaptured
			return
		}
	}
	if info.Size > s.options.MaxFileBytes {
		n.entry.Flags |= NotCaptured
		s.result.skip(join(dir, n.entry.Name), "larger than a snapshot takes")
	}
}

// enter looks into a directory.
func (s *scan) enter(ctx context.Context, parent opendir.Dir, path string, at place, was, child *node, depth int) error {
	leave := func(why string) error {
		child.entry.Flags = NotCaptured
		s.result.skip(path, why)
		return nil
	}
	if depth > s.options.MaxDepth {
		s.result.Incomplete = "depth"
		return leave("too deep")
	}
	if s.result.Incomplete == "entries" || s.late() {
		return leave("the snapshot is incomplete")
	}
	s.makeReadable(parent, path, child)
	d, err := parent.Sub(child.entry.Name)
	if err != nil {
		return leave(reason(err))
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return leave(reason(err))
	}
	slices.Sort(names)
	if !wasCaptured(was) {
		was = nil
		if !at.inGit && madeAgain(names) {
			child.entry.Flags = NotCaptured
			return nil
		}
	}
	err = s.directory(ctx, d, path, names, at.enter(child.entry.Name, names), was, child, depth)
	var unreadable *unreadableError
	if errors.As(err, &unreadable) {
		child.children = nil
		return leave(reason(unreadable.err))
	}
	return err
}

// An unreadableError says that a directory can be listed, but not what is in it.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }

func (s *scan) tick(ctx context.Context) error {
	if s.ticks++; s.ticks%256 == 0 {
		return ctx.Err()
	}
	return nil
}

// late reports that the snapshot takes longer than it may.
func (s *scan) late() bool {
	if s.result.Incomplete != "time" && time.Now().After(s.ends) {
		s.result.Incomplete = "time"
	}
	return s.result.Incomplete == "time"
}

// reason says why something could not be read, without its path.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "not readable"
	case errors.Is(err, fs.ErrNotExist):
		return "removed while it was read"
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
