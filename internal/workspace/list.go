package workspace

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// maxEntries bounds the names of one directory that are held in memory for sorting.
const maxEntries = 200_000

// An Entry is one name in a directory. For a link, Dir, Size and Modified are those of
// its target; they are zero when the link leads nowhere, outside, or to something
// protected.
type Entry struct {
	Name     string
	Dir      bool
	Link     bool
	Size     int64
	Modified time.Time
}

// A Listing is a part of a directory.
type Listing struct {
	Path    string // absolute, links resolved
	Entries []Entry
	Total   int // names in the directory, protected ones not counted
}

// ReadDir lists a directory, sorted by the bytes of the names: limit entries, or
// fewer, beginning with the one numbered offset. Protected entries are left out.
func (w *Workspace) ReadDir(name string, offset, limit int) (Listing, error) {
	var out Listing
	err := w.at(name, false, func(p *place) error {
		switch {
		case p.name != "" && p.info == nil:
			return fail(NotFound, name, "does not exist")
		case p.name != "":
			return fail(NotADirectory, name, "is not a directory")
		}
		names, err := p.names(name)
		if err != nil {
			return err
		}
		out = Listing{Path: w.absolute(p.trail), Total: len(names), Entries: []Entry{}}
		begin := min(max(offset, 0), len(names))
		for _, n := range names[begin : begin+min(max(limit, 0), len(names)-begin)] {
			if e, ok := w.entry(p, n); ok {
				out.Entries = append(out.Entries, e)
			}
		}
		return nil
	})
	return out, err
}

func (p *place) names(given string) ([]string, error) {
	d, err := p.dir().Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var names []string
	for {
		batch, err := d.Readdirnames(1024)
		for _, n := range batch {
			if p.watch.refuse(given, append(slices.Clone(p.trail), n), nil) == nil {
				names = append(names, n)
			}
		}
		if len(names) > maxEntries {
			return nil, fail(TooLarge, given, "has more than %d entries", maxEntries)
		}
		if errors.Is(err, io.EOF) {
			slices.SortFunc(names, strings.Compare)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// entry describes one name. What cannot be looked at is still listed: one bad entry
// must not hide the others. It reports false for what is gone or protected.
func (w *Workspace) entry(p *place, name string) (Entry, bool) {
	e := Entry{Name: name}
	info, err := p.dir().Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false
	}
	if err != nil {
		return e, true
	}
	trail := append(slices.Clone(p.trail), name)
	if info.Mode()&fs.ModeSymlink != 0 {
		e.Link = true
		// The target is looked up like any other path, so a link tells no more than
		// the tools would.
		if target, err := w.Stat(w.absolute(trail)); err == nil {
			e.Dir, e.Size, e.Modified = target.Dir, target.Size, target.Modified
		}
		return e, true
	}
	if p.watch.refuse(name, trail, info) != nil {
		return e, false
	}
	e.Dir, e.Size, e.Modified = info.IsDir(), info.Size(), info.ModTime()
	return e, true
}
