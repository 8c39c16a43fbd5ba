package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// A Dir is an open directory for a process to start in: swapping the path for a link before
// the start does not send the process elsewhere.
type Dir struct {
	Path string // absolute, for showing
	File *os.File
}

// Close closes the directory.
func (d *Dir) Close() error { return d.File.Close() }

// OpenDir opens a directory of the workspace.
func (w *Workspace) OpenDir(ctx context.Context, name string) (*Dir, error) {
	var dir *Dir
	err := w.at(ctx, name, reading, func(p *location) error {
		if err := p.isDir(); err != nil {
			return err
		}
		f, err := p.dir().Open(".")
		if err != nil {
			return err
		}
		dir = &Dir{Path: p.absolute(), File: f}
		return nil
	})
	return dir, err
}

// isDir refuses a location that is not a directory.
func (p *location) isDir() error {
	switch {
	case p.name == "":
		return nil
	case p.info == nil:
		return fail(NotFound, p.given, "does not exist")
	}
	return fail(NotADirectory, p.given, "is not a directory")
}

const (
	// maxEntries bounds the names of one directory that are held in memory for sorting.
	maxEntries = 200_000
	// maxLinkSteps bounds what all links of one listing may cost together: enough for a
	// thousand links of the kind that package managers make.
	maxLinkSteps = 5000
)

// An Entry is one name in a directory. For a link, Dir, Size and Modified are those of
// its target; they are zero when the link leads nowhere, outside, or to something
// protected, and when the links before it used up what a listing may cost.
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
	Total   int // names in the directory, protected and unfinished ones not counted
}

// ReadDir lists a directory, sorted by the bytes of the names: limit entries, or
// fewer, beginning with the one numbered offset. Protected entries are left out, and so are
// the temporary files of writes in progress.
func (w *Workspace) ReadDir(ctx context.Context, name string, offset, limit int) (Listing, error) {
	var out Listing
	err := w.at(ctx, name, reading, func(p *location) error {
		if err := p.isDir(); err != nil {
			return err
		}
		names, err := p.names(ctx)
		if err != nil {
			return err
		}
		out = Listing{Path: p.absolute(), Total: len(names), Entries: []Entry{}}
		begin := min(max(offset, 0), len(names))
		left := maxLinkSteps
		for _, n := range names[begin : begin+min(max(limit, 0), len(names)-begin)] {
			if err := ctx.Err(); err != nil {
				return interrupted(name, err)
			}
			if e, ok := p.entry(ctx, n, &left); ok {
				out.Entries = append(out.Entries, e)
			}
		}
		return nil
	})
	return out, err
}

func (p *location) names(ctx context.Context) ([]string, error) {
	var names []string
	err := p.dir().eachName(ctx, p.given, func(name string) error {
		if isTemporary(name) || p.refuse(p.fold(name), nil) != nil {
			return nil
		}
		if names = append(names, name); len(names) > maxEntries {
			return fail(TooLarge, p.given, "has more than %d entries", maxEntries)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// entry describes one name. What cannot be looked at is still listed: one bad entry
// must not hide the others. It reports false for what is gone or protected.
func (p *location) entry(ctx context.Context, name string, left *int) (Entry, bool) {
	e := Entry{Name: name}
	info, err := p.dir().Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false
	}
	if err != nil {
		return e, true
	}
	if isLink(info) {
		e.Link = true
		if *left == 0 { // the links before it took too many steps
			return e, true
		}
		if info, err = p.sibling(left).target(ctx, p.dir(), name, nil); err != nil {
			return e, true
		}
	} else if p.watch.refuse(name, info) != nil { // its name was checked before
		return e, false
	}
	e.Dir, e.Size, e.Modified = info.IsDir(), info.Size(), info.ModTime()
	return e, true
}

// target describes what a link in dir leads to, to which trail leads from the location. It
// is reached by a walk like any other path, so that a link reveals no more than the tools
// would. The location is closed.
func (p *location) target(ctx context.Context, dir folder, link string, trail []string) (fs.FileInfo, error) {
	defer p.close()
	target, err := dir.Readlink(link)
	if err != nil {
		return nil, err
	}
	steps, err := p.follow(target)
	if err != nil {
		return nil, err
	}
	if err := p.walk(ctx, append(stepsTo(trail), steps...), false); err != nil {
		return nil, err
	}
	return p.stat()
}

// Usage returns how many bytes everything below the workspace takes on the disk, including
// the history if it is there: a command could write anything under its name. It stops when
// it has more than max, if that is above 0.
//
// A file with several names counts once, and a file with holes as far as it is filled. A
// directory that cannot be read is not counted if processes of this user cannot write to
// it. If they can, the error names it: the size is not known.
func (w *Workspace) Usage(ctx context.Context, max int64) (int64, error) {
	var sum int64
	err := w.at(ctx, ".", reading, func(p *location) error {
		var err error
		sum, err = p.usage(ctx, max)
		return err
	})
	return sum, err
}

const (
	// maxHardLinks bounds the files with several names that are remembered. Those beyond it
	// count once for each name.
	maxHardLinks = 100_000
	// maxPending bounds the directories that are known and not read yet.
	maxPending = 500_000
)
