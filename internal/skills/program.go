package skills

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// excluded are the directories that a program never gets because it is in or near them: for the
// workspace there is a right, and the directories of a sandbox belong to one skill.
func (b *skillSandbox) excluded(workspace string) []string {
	return []string{realPath(workspace), realPath(b.sandboxes.Home), realPath(b.sandboxes.Tmp)}
}

// inAny reports whether a path is in one of the trees.
func inAny(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(top string) bool { return isBelow(path, top) })
}

// containsAny reports whether a directory contains one of the paths.
func containsAny(dir string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return isBelow(path, dir) })
}

// programPlaces returns the directories or files that a program outside of the system needs.
// Version managers install programs in the user's home, with libraries beside the directory bin;
// then it is the parent of bin, and otherwise the program alone. It is never the user's home or a
// parent of it, nor a directory in which programs of all kinds keep data, nor does it contain one
// of the excluded directories. Paths are compared without links: /proc/self/root/bin/sh is in /.
func programPlaces(server sandbox.Server, system, excluded []string) (places []string) {
	env, _ := sandbox.Environment(server.Environ, nil)
	found := lookup(server.Program, env)
	if found == "" {
		return nil // it will not start, and starting it says why
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return nil
	}
	if inAny(real, excluded) {
		return nil
	}
	for _, path := range slices.Compact([]string{found, real}) {
		bin := realPath(filepath.Dir(path)) // the program itself may be a link, as in a virtual environment
		if inAny(filepath.Join(bin, filepath.Base(path)), system) || inAny(bin, excluded) {
			continue
		}
		place := real
		if top := filepath.Dir(bin); filepath.Base(bin) == "bin" && isOwnPlace(top, sandbox.Variable(env, "HOME")) && !containsAny(top, excluded) {
			place = top
		}
		if !inAny(place, system) {
			places = append(places, place)
		}
	}
	return slices.Compact(places)
}

// isOwnPlace reports whether a directory, given without links, belongs to a program, and not to a
// user or to the kernel. Without a known home it could belong to a user.
func isOwnPlace(dir, home string) bool {
	if dir == filepath.Dir(dir) || !filepath.IsAbs(home) {
		return false
	}
	if inAny(dir, []string{"/proc", "/sys", "/dev"}) {
		return false
	}
	for _, home := range []string{home, realPath(home)} {
		if isBelow(home, dir) {
			return false
		}
		// Besides programs, these contain keys and the user's work.
		for _, name := range []string{".local", ".cargo", "go"} {
			if dir == filepath.Join(home, name) {
				return false
			}
		}
	}
	return true
}

// searchPath returns the directories of PATH that commands get besides the system, and their
// PATH. Only directories named bin are kept: in the others version managers put scripts that need
// more than that directory, and a program that cannot run must not hide one of the same name
// that can.
func searchPath(environ, system, excluded []string) (dirs []string, path string) {
	env, _ := sandbox.Environment(environ, nil)
	home := sandbox.Variable(env, "HOME")
	var kept []string
	for _, dir := range filepath.SplitList(sandbox.Variable(env, "PATH")) {
		dir = filepath.Clean(dir)
		switch {
		case !filepath.IsAbs(dir):
		case inAny(dir, system):
			kept = append(kept, dir)
		case filepath.Base(dir) != "bin":
		default:
			real := realPath(dir)
			aroundHome := filepath.IsAbs(home) && (isBelow(home, dir) || isBelow(realPath(home), real))
			if !aroundHome && !inAny(real, excluded) && !containsAny(real, excluded) {
				dirs, kept = append(dirs, dir), append(kept, dir)
			}
		}
	}
	return dirs, strings.Join(kept, string(filepath.ListSeparator))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return real
}

// lookup finds the file of a program; "" if there is none. A path relative to the working
// directory is in the workspace, for which there is a right.
func lookup(program string, env []string) string {
	path, err := sandbox.LookPath(program, env)
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}
