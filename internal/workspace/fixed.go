package workspace

import (
	"errors"
	"io/fs"
	"slices"
)

// A directory of [Options.ReadOnly] is recognised as a protected one is: by where it is, and by
// its identity, wherever a command moved it.

// isInFixed reports whether a name is in a directory that is read only. The path leads to the
// name from the root of the workspace.
func (p *location) isInFixed(path []string) bool {
	fixed := p.workspace.fixed
	if len(fixed.entries) == 0 {
		return false
	}
	folded := foldAll(path)
	for _, e := range fixed.entries {
		if e.location != nil && len(folded) > len(e.location) && slices.Equal(e.location, folded[:len(e.location)]) {
			return true
		}
	}
	held := fixed.watch().held
	return slices.ContainsFunc(p.dirs[1:], func(dir walkedDir) bool { return holds(held, dir.id) })
}

// maxFixedNames bounds the files of read-only directories that a file is compared with.
const maxFixedNames = 20_000

// isNameOfFixed reports whether the file is, by another of its names, in a directory that is read
// only. A file that cannot be compared with all of them counts as one.
func (p *location) isNameOfFixed() bool {
	if p.info == nil || !p.info.Mode().IsRegular() || len(p.workspace.fixed.entries) == 0 || !mayHaveNames(p.info) {
		return false
	}
	left := maxFixedNames
	for _, h := range p.workspace.fixed.watch().held {
		if h.opened && !h.jobs && hasFile(h.dir, p.info, &left, 0) {
			return true
		}
	}
	return false
}

// hasFile looks for a file below a directory. It opens directories only, and follows no links.
func hasFile(dir folder, file fs.FileInfo, left *int, depth int) bool {
	f, err := dir.Open(".")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	names, err := f.Readdirnames(*left + 1)
	f.Close()
	if *left -= len(names); *left < 0 || depth > maxDepth {
		return true
	}
	if err != nil && len(names) > 0 {
		return true
	}
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err != nil {
			continue // it is gone
		}
		if sameFile(info, file) {
			return true
		}
		if !info.IsDir() {
			continue
		}
		sub, err := dir.step(name, info)
		if err != nil {
			continue
		}
		found := hasFile(sub, file, left, depth+1)
		sub.Close()
		if found {
			return true
		}
	}
	return false
}
