package workspace

import (
	"os"
	"path/filepath"
	"slices"
)

// A stop is a name in the workspace that a trusted path goes through: a directory or a
// link on the path, or its end. Replacing a stop would change what the runtime finds at
// the end of the path.
type stop struct {
	location []string // folded names from the root of the workspace
	end      bool     // the end of the path: the file itself, or a link to it
}

// origin returns where the route to a trusted path begins, and the names from there. It is
// the workspace if the path goes through it under any name, such as a link to the
// workspace or another letter case.
func origin(dir, path string) (from string, names []string) {
	if rest, ok := below(dir, path); ok {
		return dir, components(rest)
	}
	from, names = topOf(path), components(path[len(filepath.VolumeName(path)):])
	top, err := os.Stat(dir)
	if err != nil {
		return from, names
	}
	head := from
	for i, name := range names {
		head = filepath.Join(head, name)
		if info, err := os.Stat(head); err == nil && os.SameFile(info, top) {
			return dir, names[i+1:]
		}
	}
	return from, names
}

func topOf(path string) string { return filepath.VolumeName(path) + string(filepath.Separator) }

// route resolves the path of the entry as the kernel would, and returns its stops. Names
// that do not exist are stops too.
func (e *entry) route(dir string) []stop {
	var stops []stop
	at, todo := e.origin, slices.Clone(e.names)
	links := 0
	for range maxSteps {
		if len(todo) == 0 {
			break
		}
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			at = filepath.Dir(at) // at has no links in it
			continue
		}
		next := filepath.Join(at, name)
		if rest, ok := below(dir, next); ok {
			if names := components(rest); len(names) > 0 {
				stops = append(stops, stop{location: foldAll(names), end: len(todo) == 0})
			}
		}
		target, err := os.Readlink(next)
		if err != nil { // no link, or nothing there
			at = next
			continue
		}
		if links++; links > maxLinks {
			break // it leads nowhere
		}
		volume := filepath.VolumeName(target)
		switch rooted := target[len(volume):]; {
		case volume != "":
			at = topOf(target)
		case rooted != "" && os.IsPathSeparator(rooted[0]):
			at = topOf(at)
		}
		todo = append(components(target[len(volume):]), todo...)
	}
	return stops
}

// stopAt returns the entry that has a stop at the folded names, now or when the workspace
// was opened: links change during a run, for example by "git checkout". It is used before
// changes, not before reads.
func (g *guard) stopAt(folded []string) (e *entry, end bool) {
	for _, e := range g.entries {
		for _, stops := range [][]stop{e.stops, e.route(g.dir)} {
			for _, s := range stops {
				if slices.Equal(s.location, folded) {
					return e, s.end
				}
			}
		}
	}
	return nil, false
}
