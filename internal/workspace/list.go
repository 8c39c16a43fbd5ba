package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

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
// fewer, beginning with the one numbered offset. Protected entries are left out, and so is
// what WriteFile and Move have not finished.
func (w *Workspace) ReadDir(ctx context.Context, name string, offset, limit int) (Listing, error) {
	var out Listing
	err := w.at(ctx, name, false, func(p *place) error {
		switch {
		case p.name != "" && p.info == nil:
			return fail(NotFound, name, "does not exist")
		case p.name != "":
			return fail(NotADirectory, name, "is not a directory")
		}
		names, err := p.names(ctx)
		if err != nil {
			return err
		}
		out = Listing{Path: w.absolute(p.trail), Total: len(names), Entries: []Entry{}}
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

func (p *place) names(ctx context.Context) ([]string, error) {
	d, err := p.dir().Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var names []string
	for {
		if err := ctx.Err(); err != nil {
			return nil, interrupted(p.given, err)
		}
		batch, err := d.Readdirnames(1024)
		for _, n := range batch {
			if !isTemporary(n) && p.refuse(p.fold(n), nil) == nil {
				names = append(names, n)
			}
		}
		if len(names) > maxEntries {
			return nil, fail(TooLarge, p.given, "has more than %d entries", maxEntries)
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
func (p *place) entry(ctx context.Context, name string, left *int) (Entry, bool) {
	e := Entry{Name: name}
	info, err := p.dir().Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false
	}
	if err != nil {
		return e, true
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		e.Link = true
		if info, err = p.target(ctx, name, left); err != nil {
			return e, true
		}
	} else if p.watch.refuse(name, info) != nil { // by its name it was held against the guard before
		return e, false
	}
	e.Dir, e.Size, e.Modified = info.IsDir(), info.Size(), info.ModTime()
	return e, true
}

// target describes what a link leads to. It is walked to like any other path, so a
// link tells no more than the tools would.
func (p *place) target(ctx context.Context, link string, left *int) (fs.FileInfo, error) {
	if *left == 0 {
		return nil, errSpent
	}
	target, err := p.dir().Readlink(link)
	if err != nil {
		return nil, err
	}
	steps, err := p.follow(target)
	if err != nil {
		return nil, err
	}
	q := p.beside(left)
	defer q.close()
	if err := q.walk(ctx, steps, false); err != nil {
		return nil, err
	}
	return q.stat()
}

// errSpent is not shown: the link is, without what it leads to.
var errSpent = errors.New("the links of this listing took too many steps")
