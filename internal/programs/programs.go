// Package programs knows which files of a workspace a skill is started from: its program, its
// scripts, and the directories that they lie in. It says what these files contain, so that a run
// can tell whether they are still those that were installed.
//
// What lies outside of the workspace is no concern of this package: no tool can write there. It
// starts nothing and changes nothing. Start reading at [Find], then [Program.Digest].
package programs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Program is what a skill is started from, as far as it lies in the workspace. All paths are
// relative to the workspace and have slashes.
type Program struct {
	Files []string // the program and its scripts, without links; some may not exist
	Dirs  []string // directories around them that belong to the program
	Links []string // symbolic links in the workspace that lead to them
	// Manifests lie elsewhere and decide what is started, as package.json does; some may not exist.
	Manifests []string
	// Loaders find code by themselves. It is covered only as far as it lies in the files above.
	Loaders []Loader
	// Bare are those of Files whose directory is not covered, with the reason.
	Bare []Bare
	// Modules are the directories node_modules of the workspace in which Node looks for packages and
	// that are not covered.
	Modules []string

	dir      string   // of the workspace, without links
	aliases  []string // other paths of it
	compiled bool     // Python can read compiled code beside the program
}

// A Bare is a file of a program that is covered alone: files beside it can change.
type Bare struct{ File, Why string }

// The limits of the directory of a program.
const (
	maxFiles = 5_000
	maxBytes = 512 << 20
)

// Find returns what of a command line lies in the workspace. Relative paths start there, and paths
// below an alias lead there: it is where a container has the workspace. A program that is named
// without a path is not looked for: see [Named].
func Find(dir string, argv []string, aliases ...string) (*Program, error) {
	p, err := in(dir)
	if err != nil {
		return nil, err
	}
	p.aliases, p.compiled = aliases, ignoresVariables(argv)
	r := p.read(argv)
	for _, c := range r.paths {
		p.add(c)
	}
	for _, m := range r.manifests {
		p.addManifest(m)
	}
	p.Loaders = r.loaders
	p.cover()
	if r.node {
		p.Modules = p.modules()
	}
	return p, nil
}

// Loaders returns the programs of a command line that find code by themselves. It is cheaper than
// [Find].
func Loaders(dir string, argv []string) []Loader {
	p, err := in(dir)
	if err != nil {
		return nil
	}
	return p.read(argv).loaders
}

func (p *Program) read(argv []string) reading {
	r := reading{isThere: p.isThere}
	r.read(argv)
	return r
}

// Named is [Find] for a program that was found in PATH, by its absolute path, without its arguments.
func Named(dir, path string) (*Program, error) {
	p, err := in(dir)
	if err != nil {
		return nil, err
	}
	p.add(candidate{path: path, certain: true})
	p.cover()
	return p, nil
}

func in(dir string) (*Program, error) {
	real, err := filepath.EvalSymlinks(dir)
	return &Program{dir: real}, err
}

// Empty reports whether nothing of the program lies in the workspace.
func (p *Program) Empty() bool { return !p.HasCode() && len(p.Manifests) == 0 }

// HasCode reports whether code of the program lies in the workspace, and not only what decides
// which code is started.
func (p *Program) HasCode() bool { return len(p.Files) > 0 || len(p.Dirs) > 0 || len(p.Links) > 0 }

// PresentManifests are the manifests that exist.
func (p *Program) PresentManifests() []string {
	return slices.DeleteFunc(slices.Clone(p.Manifests), func(name string) bool {
		_, err := os.Lstat(p.path(name))
		return err != nil
	})
}

// Frozen are the absolute paths that must not change while the skill can be started, without
// links.
func (p *Program) Frozen() (paths []string) {
	for _, name := range p.Dirs {
		paths = append(paths, p.path(name))
	}
	for _, name := range unique(slices.Concat(p.Files, p.Manifests)) {
		if !p.isCovered(name) {
			paths = append(paths, p.path(name))
		}
	}
	return paths
}

// LinkPaths are the absolute paths of the links.
func (p *Program) LinkPaths() (paths []string) {
	for _, name := range p.Links {
		paths = append(paths, p.path(name))
	}
	return paths
}

func (p *Program) isThere(path string) bool {
	end, _ := p.resolve(path)
	_, err := os.Lstat(end)
	return err == nil && !isEnvFile(filepath.Base(end))
}

func (p *Program) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

// add adds what a candidate leads to.
func (p *Program) add(c candidate) {
	end, links := p.resolve(c.path)
	p.Links = append(p.Links, links...)
	name, inside := p.name(end)
	if !inside {
		return
	}
	info, err := os.Lstat(end)
	switch {
	case err != nil:
		if c.certain {
			p.Files = append(p.Files, name)
		}
	case info.IsDir() && c.dir:
		p.addDir(name, c.isGo)
	case info.IsDir(), isEnvFile(filepath.Base(end)):
	case c.certain || c.operand || isCode(end, info):
		p.Files = append(p.Files, name)
	}
}

// addDir adds a directory that an interpreter is given: what it starts there.
func (p *Program) addDir(name string, isGo bool) {
	if name != "." {
		p.Dirs = append(p.Dirs, name)
		return
	}
	if isGo {
		for _, file := range p.list(".") {
			if info, err := os.Lstat(p.path(file)); err == nil && info.Mode().IsRegular() && strings.HasSuffix(file, ".go") {
				p.Files = append(p.Files, file)
			}
		}
		return
	}
	for _, main := range []string{"package.json", "index.js", "__main__.py", "main.py", "pyproject.toml"} {
		if info, err := os.Lstat(p.path(main)); err == nil && info.Mode().IsRegular() {
			p.Files = append(p.Files, main)
		}
	}
}

// cover finds the directories that belong to the program, and removes duplicates.
func (p *Program) cover() {
	for i, dir := range p.Dirs { // a directory that was named, such as a part of a package
		if top, ok := p.top(dir); ok {
			p.Dirs[i] = top
		}
	}
	p.Dirs = p.withLinked(unique(p.Dirs))
	p.Files = unique(p.Files)
	for _, file := range p.Files {
		if p.isCovered(file) {
			continue
		}
		dir, ok := p.top(parent(file))
		if own := parent(file); !ok && own != "." && p.isDir(own) {
			dir, ok = own, true // a manifest in the root of a repository says nothing about its parts
		}
		switch {
		case !ok:
			p.Bare = append(p.Bare, Bare{file, "its package is the workspace itself, where other files change"})
		default:
			p.Dirs = p.withLinked(append(p.Dirs, dir))
		}
	}
	p.Dirs = p.limited(unique(p.Dirs))
	p.Links = unique(p.Links)
	p.Manifests = slices.DeleteFunc(unique(p.Manifests), func(name string) bool { return p.isCovered(name) || slices.Contains(p.Files, name) })
}

// modules finds what Node loads from the directories around the program.
func (p *Program) modules() (found []string) {
	from := slices.Clone(p.Dirs)
	for _, file := range p.Files {
		from = append(from, parent(file))
	}
	for _, at := range from {
		for {
			name := path.Join(at, "node_modules")
			if info, err := os.Stat(p.path(name)); err == nil && info.IsDir() && !p.isCovered(name) {
				found = append(found, name)
			}
			if at == "." {
				break
			}
			at = parent(at)
		}
	}
	return unique(found)
}

// isCovered reports whether a file lies in a directory of the program.
func (p *Program) isCovered(file string) bool {
	return slices.ContainsFunc(p.Dirs, func(dir string) bool { return isBelow(file, dir) })
}

func (p *Program) isDir(name string) bool {
	info, err := os.Lstat(p.path(name))
	return err == nil && info.IsDir()
}

// top returns the directory of a program around one of its directories: the nearest that has a
// package.json or pyproject.toml, else the directory itself. It is false for the workspace.
func (p *Program) top(dir string) (string, bool) {
	for at := dir; ; at = parent(at) {
		for _, name := range []string{"package.json", "pyproject.toml"} {
			if info, err := os.Lstat(filepath.Join(p.path(at), name)); err == nil && !info.IsDir() {
				return at, at != "."
			}
		}
		if at == "." {
			return dir, dir != "."
		}
	}
}

// limited removes directories that are too large to be compared at each start, and notes which
// files they leave alone.
func (p *Program) limited(dirs []string) (kept []string) {
	files, bytes := maxFiles, int64(maxBytes)
	for _, dir := range dirs {
		// What one directory exceeds is not taken from the others.
		if restFiles, restBytes := files, bytes; p.fits(dir, &restFiles, &restBytes) {
			files, bytes, kept = restFiles, restBytes, append(kept, dir)
			continue
		}
		why := fmt.Sprintf("the directory %s, with those before it, has more than %d files or %d MiB", dir, maxFiles, maxBytes>>20)
		below := slices.DeleteFunc(slices.Clone(p.Files), func(file string) bool { return !isBelow(file, dir) })
		if len(below) == 0 {
			below = []string{dir} // a directory that was named itself, or that a link leads to
		}
		for _, file := range below {
			p.Bare = append(p.Bare, Bare{file, why})
		}
	}
	return kept
}

func (p *Program) fits(dir string, files *int, bytes *int64) bool {
	fits := true
	_ = p.walk(dir, func(_ string, info fs.FileInfo) error {
		*files--
		if info.Mode().IsRegular() {
			*bytes -= info.Size()
		}
		if *files < 0 || *bytes < 0 {
			fits = false
			return fs.SkipAll
		}
		return nil
	})
	return fits
}

// withLinked adds the directories of the workspace that links in these directories lead to, as
// package managers make them for the packages of one repository.
func (p *Program) withLinked(dirs []string) []string {
	for i := 0; i < len(dirs) && len(dirs) < maxLinked; i++ {
		seen := 0
		_ = p.walk(dirs[i], func(name string, info fs.FileInfo) error {
			if seen++; seen > maxFiles {
				return fs.SkipAll
			}
			if info.Mode()&fs.ModeSymlink == 0 {
				return nil
			}
			end, _ := p.resolve(p.path(name))
			to, inside := p.name(end)
			if target, err := os.Lstat(end); err != nil || !inside || !target.IsDir() || to == "." {
				return nil
			}
			if !slices.ContainsFunc(dirs, func(dir string) bool { return isBelow(to, dir) }) {
				dirs = append(dirs, to)
			}
			return nil
		})
	}
	return dirs
}

const maxLinked = 100

// name returns the path of something in the workspace; false if it is not in there.
func (p *Program) name(path string) (string, bool) {
	rel, err := filepath.Rel(p.dir, path)
	if err != nil || rel != "." && !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// resolve returns where a path leads, and the links of the workspace on the way. A path that does
// not exist is resolved as far as it does.
func (p *Program) resolve(path string) (end string, links []string) {
	for _, alias := range p.aliases {
		if rest, ok := strings.CutPrefix(filepath.ToSlash(path), alias+"/"); ok {
			path = filepath.FromSlash(rest)
		}
	}
	if !filepath.IsAbs(path) {
		path = p.dir + string(filepath.Separator) + path // not cleaned: x/.. is where the link x leads
	}
	volume := filepath.VolumeName(path)
	at, todo := volume+string(filepath.Separator), split(path[len(volume):])
	for steps := 0; len(todo) > 0 && steps < maxSteps; steps++ {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if link, inside := p.name(next); inside {
			links = append(links, link)
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		todo = append(split(target[len(filepath.VolumeName(target)):]), todo...)
	}
	return filepath.Join(append([]string{at}, todo...)...), links
}

const maxSteps = 1000 // of one path, those of links included

func split(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) })
}

func parent(name string) string {
	dir, _, found := cutLast(name)
	if !found {
		return "."
	}
	return dir
}

func cutLast(name string) (dir, base string, found bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

func isBelow(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
