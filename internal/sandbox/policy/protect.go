package policy

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/userfile"
)

// named protects the paths that the user and the skills of a job name.
func (s *search) named(o Options) error {
	for _, path := range o.Hide {
		at, err := s.inWorkspace(path)
		if err != nil {
			return fmt.Errorf("hide: %w", err)
		}
		if !s.hide(at) {
			s.missing = append(s.missing, path)
		}
	}
	for _, path := range o.Protect {
		at, err := s.inWorkspace(path)
		if err != nil {
			return fmt.Errorf("protect: %w", err)
		}
		if !s.freeze(at) {
			s.missing = append(s.missing, path)
		}
	}
	for _, path := range o.Programs {
		if at, err := s.inWorkspace(path); err == nil {
			s.freeze(at)
		}
	}
	if len(s.frozen) > s.limits.frozen {
		return s.tooMany("files that must not change", s.limits.frozen)
	}
	return nil
}

// inWorkspace returns the absolute path of something that must be in the workspace. Links in the
// path are not resolved yet.
func (s *search) inWorkspace(path string) (string, error) {
	at := path
	if !filepath.IsAbs(at) {
		at = filepath.Join(s.root, at)
	}
	at = filepath.Clean(at)
	if _, ok := userfile.Below(s.root, at); ok && at != s.root && path != "" {
		return at, nil
	}
	// An absolute path can lead to the workspace through a link.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(at)); err == nil && filepath.IsAbs(path) {
		at = filepath.Join(dir, filepath.Base(at))
		if _, ok := userfile.Below(s.root, at); ok && at != s.root {
			return at, nil
		}
	}
	return "", fmt.Errorf("%q does not lie in the workspace", path)
}

func isLink(e fs.DirEntry) bool { return e.Type()&fs.ModeSymlink != 0 }

// hideEntry hides what a directory lists. Only links are looked at again.
func (s *search) hideEntry(path string, e fs.DirEntry) {
	s.hidden.add(path)
	if isLink(e) {
		s.hide(path)
	}
}

// freezeEntry protects what a directory lists from changes.
func (s *search) freezeEntry(path string, e fs.DirEntry) {
	s.frozen.add(path)
	if isLink(e) {
		s.freeze(path)
	}
}

// hide hides a path and where it leads, and reports whether there is something. The last link is
// hidden, too: a program that replaces it would decide what the user reads there.
func (s *search) hide(path string) bool {
	target, links := resolve(path)
	if slices.Contains(links, path) {
		s.hidden.add(path)
	}
	if target != "" {
		s.hidden.add(target)
	}
	return target != "" || slices.Contains(links, path)
}

// freeze protects a path from changes, with every link on the way and where it leads.
func (s *search) freeze(path string) bool {
	target, links := resolve(path)
	for _, link := range links {
		s.frozen.add(link)
	}
	if target != "" {
		s.frozen.add(target)
	}
	return target != "" || slices.Contains(links, path)
}

// maxLinks bounds the links on the way of one path, as the kernel does.
const maxLinks = 40

// resolve returns where an absolute path leads and the links on the way. The target is empty if
// nothing is there.
func resolve(path string) (target string, links []string) {
	volume := filepath.VolumeName(path)
	top := volume + string(filepath.Separator)
	todo := split(path[len(volume):])
	at := top
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", links
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if links = append(links, next); err != nil || len(links) > maxLinks {
			return "", links
		}
		if filepath.IsAbs(to) {
			at, to = top, to[len(filepath.VolumeName(to)):]
		}
		todo = append(split(to), todo...)
	}
	return at, links
}

func split(path string) []string {
	var names []string
	for rest := path; rest != ""; {
		i := 0
		for i < len(rest) && !os.IsPathSeparator(rest[i]) {
			i++
		}
		names = append(names, rest[:i])
		rest = rest[min(i+1, len(rest)):]
	}
	return names
}

// result turns what was found into the lists of a policy. What lies elsewhere is left out: no
// program reaches it. So is what another entry covers.
func (s *search) result() *Protected {
	p := &Protected{Write: outermost(s.write), Ignored: s.ignored, Closed: s.relative(s.closed), Missing: s.missing}
	hidden := s.inside(s.hidden)
	frozen := s.inside(s.frozen)
	pinned := s.inside(s.pinned)
	maps.DeleteFunc(frozen, func(path string, _ bool) bool { return covered(path, hidden) || hidden[path] })
	maps.DeleteFunc(pinned, func(path string, _ bool) bool {
		return covered(path, hidden) || hidden[path] || covered(path, frozen) || frozen[path]
	})
	outer := func(all set) []string {
		var paths []string
		for path := range all {
			if !covered(path, all) {
				paths = append(paths, path)
			}
		}
		paths = s.relative(paths)
		slices.Sort(paths)
		return paths
	}
	p.Hidden, p.Frozen = outer(hidden), outer(frozen)
	p.Pinned = s.relative(slices.Collect(maps.Keys(pinned)))
	slices.Sort(p.Pinned)
	return p
}

// pin adds the directories around protected paths: a program that renames one of them can put another
// file in the place of a frozen one. A hidden file keeps its mask when a directory around it is renamed,
// but only in the sandboxes that exist by then: the next one would not find it where the search did.
func (s *search) pin() {
	for _, paths := range []set{s.frozen, s.hidden} {
		for path := range paths {
			top := s.top(path)
			if top == "" {
				continue
			}
			for dir := filepath.Dir(path); len(dir) > len(top); dir = filepath.Dir(dir) {
				s.pinned.add(dir)
			}
		}
	}
}

// top is the tree that a path is in; "" if there is none.
func (s *search) top(path string) string {
	for _, tree := range append([]string{s.root}, s.write...) {
		if rest, ok := userfile.Below(tree, path); ok && rest != "." {
			return tree
		}
	}
	return ""
}

func (s *search) inside(all set) set {
	in := make(set)
	for path := range all {
		if s.top(path) != "" {
			in[path] = true
		}
	}
	return in
}

// relative makes paths in the workspace relative to it.
func (s *search) relative(paths []string) []string {
	var all []string
	for _, path := range paths {
		if rest, ok := userfile.Below(s.root, path); ok {
			path = rest
		}
		all = append(all, path)
	}
	return all
}

// covered reports whether a directory above the path is in the set.
func covered(path string, all set) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if all[dir] {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
