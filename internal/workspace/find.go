package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxFound bounds the names that one search looks at.
const maxFound = 500_000

// A Found is a file, link or directory that a search found.
type Found struct {
	Path    string // from the root of the workspace, with slashes
	Below   string // from the directory in which the search began; for a file, its last name
	Dir     bool
	Regular bool // a file with content, not a link, a pipe or a device
}

// Find visits everything below a directory, or a single file, in the order of the names; a
// directory comes before its entries. It follows no link, opens nothing but directories and
// .gitignore files, and skips what tools cannot reach, directories that cannot be read, and .git.
// What .gitignore files name is visited only if ignored is true. A directory or file that is named
// is visited even if it is ignored itself.
//
// The search ends when visit returns false. It returns why something was left out, be it
// files or rules, or "".
func (w *Workspace) Find(ctx context.Context, name string, ignored bool, visit func(Found) bool) (leftOut string, err error) {
	err = w.at(ctx, name, reading, func(p *location) error {
		for _, part := range p.path() {
			if isGitName(fold(part)) {
				return fail(Protected, name, "is not searched: it is in .git")
			}
		}
		path := strings.Join(p.path(), "/")
		if p.name != "" {
			info, err := p.stat()
			if err == nil {
				visit(Found{Path: path, Below: p.name, Regular: info.Mode().IsRegular()})
			}
			return err
		}
		p.closePrevious()
		f := &finder{p: p, ignored: ignored, visit: visit, left: maxFound, ignoreLeft: maxIgnoreFiles}
		if path != "" {
			f.path = path + "/"
		}
		f.start = len(f.path)
		f.readAbove(ctx)
		err := f.dir(ctx)
		leftOut = f.leftOut
		if errors.Is(err, errStopped) || errors.Is(err, errChanged) { // never again: visit was called
			err = nil
		}
		return err
	})
	return leftOut, err
}

// errStopped ends a search early. It is not shown.
var errStopped = errors.New("stopped")

// A finder is one search.
type finder struct {
	p          *location
	ignored    bool // whether to visit what .gitignore files name
	visit      func(Found) bool
	path       string // of the directory of p, with a slash at its end
	start      int    // the length of the path in which the search began
	rules      []ignoreDir
	left       int
	ignoreLeft int // bytes of .gitignore files that can still be read
	leftOut    string
}

// readAbove reads the .gitignore files above the directory in which the search begins.
func (f *finder) readAbove(ctx context.Context) {
	if f.ignored {
		return
	}
	left := maxSteps
	q := f.p.sibling(&left)
	defer q.close()
	for q.depth() > 0 {
		q.up()
		from := 0
		for _, name := range q.path() {
			from += len(name) + 1
		}
		f.rules = append([]ignoreDir{{f.ignoreRules(ctx, q), from}}, f.rules...)
	}
}

// ignoreRules reads the rules in the directory of a location, unless there are too many.
func (f *finder) ignoreRules(ctx context.Context, p *location) []ignoreRule {
	data := p.ignoreFile(ctx)
	if len(data) > f.ignoreLeft {
		f.leftOut = fmt.Sprintf("a .gitignore file was not read, since it and those above it have more than %d bytes", maxIgnoreFiles)
		return nil
	}
	f.ignoreLeft -= len(data)
	return parseIgnore(data)
}

// dir visits the entries of the directory.
func (f *finder) dir(ctx context.Context) error {
	names, err := f.p.names(ctx)
	switch {
	case ctx.Err() != nil:
		return interrupted(f.p.given, ctx.Err())
	case hasCode(err, TooLarge):
		f.leftOut = "a directory has too many entries"
		return nil
	case err != nil && len(f.path) == f.start:
		return err
	case err != nil:
		return nil
	}
	if !f.ignored {
		above, left := f.rules, f.ignoreLeft
		f.rules = append(f.rules, ignoreDir{f.ignoreRules(ctx, f.p), len(f.path)})
		defer func() {
			f.rules[len(above)] = ignoreDir{} // its memory can be used again
			f.rules, f.ignoreLeft = above, left
		}()
	}
	for _, name := range names {
		if err := f.entry(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) entry(ctx context.Context, name string) error {
	p := f.p
	if err := ctx.Err(); err != nil {
		return interrupted(p.given, err)
	}
	if f.left--; f.left < 0 {
		f.leftOut = "the search has too many files"
		return errStopped
	}
	folded := p.fold(name)
	info, err := p.dir().Lstat(name)
	if err != nil || isGitName(folded) || p.refuse(folded, info) != nil {
		return nil
	}
	path := f.path + name
	if ignored, err := ignores(ctx, f.rules, path, info.IsDir()); err != nil {
		return interrupted(p.given, err)
	} else if ignored {
		return nil
	}
	if !f.visit(Found{Path: path, Below: path[f.start:], Dir: info.IsDir(), Regular: info.Mode().IsRegular()}) {
		return errStopped
	}
	if !info.IsDir() {
		return nil
	}
	if p.depth() >= maxDepth {
		f.leftOut = "a directory is too deep"
		return nil
	}
	sub, err := p.dir().step(name, info)
	if err != nil {
		return nil
	}
	p.down(sub, identify(info), name, folded)
	f.path = path + "/"
	err = f.dir(ctx)
	f.path = f.path[:len(f.path)-len(name)-1]
	p.up()
	return err
}
