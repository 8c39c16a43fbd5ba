package skills

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/sandbox"
)

// madeOf lists what a server consists of beside the system: its package, if it comes from a
// store, and its program where that is not part of the system.
func (r *room) madeOf(server sandbox.Server, workspace string, from *packages.Store) []string {
	made := programPlaces(server, r.sandboxes.System, r.apart(workspace))
	for _, arg := range append([]string{server.Program}, server.Args...) {
		if dir, ok := packageDir(arg, from); ok {
			return append(made, dir)
		}
	}
	return made
}

// packageDir is the directory of a package with all that it needs, if a path leads into
// one of the store: the kind of package, and its digest. Others are beside it.
func packageDir(path string, from *packages.Store) (string, bool) {
	if from == nil || from.Dir == "" || !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", false
	}
	below, ok := strings.CutPrefix(path, filepath.Clean(from.Dir)+string(filepath.Separator))
	if !ok {
		return "", false
	}
	const kind, digest, all = 0, 1, 2
	names := strings.SplitN(below, string(filepath.Separator), all+1)
	if len(names) < all {
		return "", false
	}
	return filepath.Join(from.Dir, names[kind], names[digest]), true
}

// apart are the places that nobody gets by being a program near them: there is a right to
// the workspace, and the directories of sandboxes are each of one skill.
func (r *room) apart(workspace string) []string {
	return []string{realPath(workspace), realPath(r.sandboxes.Home), realPath(r.sandboxes.Tmp)}
}

// programPlaces are what a program outside of the system needs of where it lies: version
// managers keep theirs in the user's home, with libraries beside the directory bin. What is
// not laid out like that is one file. A place is never the user's home or above it, nor
// what programs of all kinds keep their data in, nor has it one of those in it that are
// apart. Places are judged and given by their real names: /proc/self/root/bin/sh does not
// look like a program of / (and is one).
func programPlaces(server sandbox.Server, system, apart []string) (places []string) {
	env, _ := sandbox.Environment(server.Environ, nil)
	found := lookup(server.Program, env)
	if found == "" {
		return nil // it will not start, and whoever starts it says why
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return nil
	}
	in := func(path string, tops []string) bool {
		return slices.ContainsFunc(tops, func(top string) bool { return isBelow(path, top) })
	}
	holds := func(place string) bool {
		return slices.ContainsFunc(apart, func(top string) bool { return isBelow(top, place) })
	}
	if in(real, apart) {
		return nil // there is a right for it, or none
	}
	for _, path := range slices.Compact([]string{found, real}) {
		bin := realPath(filepath.Dir(path)) // the program itself may be a link, as in a virtual environment
		if in(filepath.Join(bin, filepath.Base(path)), system) || in(bin, apart) {
			continue
		}
		place := real
		if top := filepath.Dir(bin); filepath.Base(bin) == "bin" && isOwnPlace(top, sandbox.Variable(env, "HOME")) && !holds(top) {
			place = top
		}
		if !in(place, system) {
			places = append(places, place)
		}
	}
	return slices.Compact(places)
}

// isOwnPlace reports whether a directory, by its real name, belongs to a program, and not to
// a user or to the kernel. Who says nothing of a home may have it anywhere.
func isOwnPlace(dir, home string) bool {
	if dir == filepath.Dir(dir) || !filepath.IsAbs(home) {
		return false
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if isBelow(dir, kernel) {
			return false
		}
	}
	for _, home := range []string{home, realPath(home)} {
		if isBelow(home, dir) {
			return false
		}
		// Beside their programs, these have keys and other people's work.
		for _, name := range []string{".local", ".cargo", "go"} {
			if dir == filepath.Join(home, name) {
				return false
			}
		}
	}
	return true
}

// searchPath lists the directories of PATH that are not part of the system, since commands
// may be any of the programs there, and what is left of PATH for them. What programs need
// beside them is not known and left out. So are directories of another kind (version
// managers put scripts there that lead elsewhere): a program that cannot run must not hide
// one of the same name that can.
func searchPath(environ, system, apart []string) (dirs []string, path string) {
	env, _ := sandbox.Environment(environ, nil)
	home := sandbox.Variable(env, "HOME")
	var kept []string
	for _, dir := range filepath.SplitList(sandbox.Variable(env, "PATH")) {
		dir = filepath.Clean(dir)
		switch {
		case !filepath.IsAbs(dir):
		case slices.ContainsFunc(system, func(top string) bool { return isBelow(dir, top) }):
			kept = append(kept, dir)
		case slices.ContainsFunc(apart, func(top string) bool { return isBelow(top, realPath(dir)) || isBelow(realPath(dir), top) }):
		case filepath.Base(dir) != "bin" || filepath.IsAbs(home) && (isBelow(home, dir) || isBelow(realPath(home), realPath(dir))):
		default:
			dirs, kept = append(dirs, dir), append(kept, dir)
		}
	}
	return dirs, strings.Join(kept, string(filepath.ListSeparator))
}

func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return real
}

// lookup finds the file of a program; "" if there is none. One that is named by a path of
// the working directory lies in the workspace, for which there is a right.
func lookup(program string, env []string) string {
	path, err := sandbox.LookPath(program, env)
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}
