package packages

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// Some programs write beside themselves: server-memory keeps its memory in the directory of its
// own code. So a skill is started from a copy of its package, in a directory of its own, which it
// can write to. The copy is small: dependencies are links to the package cache. Before each start
// the files of the package are compared with the cache and restored. Data that the skill has added
// stays; code that it has added is removed.

// A Placed is a package that is ready to be started for one skill.
type Placed struct {
	Argv []string // program and first arguments
	Read []string // directories that it has to read besides the one it was placed in
}

// Place makes sure that a pinned package is installed, as [Store.Install] does, and that dir has a
// copy of it to be started from. Dir belongs to the skill, which may have changed anything in it.
func (s *Store) Place(ctx context.Context, p *lockfile.Package, program, dir string, note func(string)) (placed Placed, err error) {
	argv, err := s.Install(ctx, p, program, note)
	if err != nil {
		return Placed{}, err
	}
	defer wrap(&err, nameOf(p))
	var home, own string
	var wanted []item
	if p.Manager == uvManager {
		home = filepath.Join(s.Dir, uvKind, uvDigest(p))
		module, _, _ := strings.Cut(argv[uvModule], ".")
		wanted, err = copyUV(home, module)
		argv = slices.Clone(argv)
		argv[uvPlaces] = filepath.Join(dir, uvModules) + "\n" + argv[uvPlaces]
	} else {
		tree, err := lockedTree(p)
		if err != nil {
			return Placed{}, err
		}
		home, own = s.homeOf(tree), modules+"/"+p.Name
		if wanted, err = copyNPM(home, own); err != nil {
			return Placed{}, err
		}
		script := argv[len(argv)-1]
		below, err := filepath.Rel(filepath.Join(home, filepath.FromSlash(own)), script)
		if err != nil {
			return Placed{}, err
		}
		argv = append(slices.Clip(argv[:len(argv)-1]), filepath.Join(dir, filepath.FromSlash(own), below))
	}
	var removed []string
	if err == nil {
		removed, err = restore(dir, wanted)
	}
	if len(removed) > 0 {
		tell(note, "removed what it had added beside its program and would have loaded as code: "+listed(removed))
	}
	return Placed{Argv: argv, Read: []string{home}}, err
}

// listed names the first of some files.
func listed(names []string) string {
	const enough = 3
	rest := ""
	if more := len(names) - enough; more > 0 {
		names, rest = names[:enough], fmt.Sprintf(", and %d more", more)
	}
	return safeText(strings.Join(names, ", ")) + rest
}

// copyNPM lists what a copy of an npm package has: its own files, and links to what it needs. Node
// resolves links, so a dependency finds its own dependencies in the cache.
func copyNPM(home, own string) (wanted []item, err error) {
	wanted = []item{{name: modules, kind: fs.ModeDir}}
	if runtime.GOOS == "windows" { // where users cannot make links
		return append(wanted, copyTree(home, modules, nil, &err)...), err
	}
	names, err := topLevel(filepath.Join(home, modules))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		name = path.Join(modules, name)
		switch {
		case name == own:
			inner := path.Join(own, modules)
			wanted = append(wanted, copyTree(home, own, func(name string) bool { return name == inner }, &err)...)
			if _, missing := os.Lstat(filepath.Join(home, inner)); missing == nil {
				wanted = append(wanted, item{name: inner, kind: fs.ModeSymlink, from: filepath.Join(home, inner)})
			}
		case strings.HasPrefix(own, name+"/") || isScope(name):
			wanted = append(wanted, item{name: name, kind: fs.ModeDir})
		default:
			wanted = append(wanted, item{name: name, kind: fs.ModeSymlink, from: filepath.Join(home, name)})
		}
	}
	return wanted, err
}

// topLevel lists the packages in a directory for modules; those of a scope after their scope.
func topLevel(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case !isScope(e.Name()):
			names = append(names, e.Name())
		default:
			names = append(names, e.Name())
			scoped, err := os.ReadDir(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			for _, e2 := range scoped {
				names = append(names, e.Name()+"/"+e2.Name())
			}
		}
	}
	return names, nil
}

// isScope reports whether a path ends in a directory of packages like @acme.
func isScope(name string) bool { return strings.HasPrefix(path.Base(name), "@") }

// copyUV lists what a copy of a package of uv has: the module that its program is in.
func copyUV(home, module string) (wanted []item, err error) {
	wanted = []item{{name: uvModules, kind: fs.ModeDir}}
	for _, name := range []string{module, module + ".py"} {
		name = path.Join(uvModules, name)
		if _, missing := os.Lstat(filepath.Join(home, name)); missing == nil {
			wanted = append(wanted, copyTree(home, name, nil, &err)...)
		}
	}
	return wanted, err
}

// copyTree lists everything at and below a name. Links are copied as links.
func copyTree(home, name string, skip func(name string) bool, failed *error) (wanted []item) {
	err := filepath.WalkDir(filepath.Join(home, filepath.FromSlash(name)), func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(home, at)
		if err != nil {
			return err
		}
		it := item{name: filepath.ToSlash(rel), kind: d.Type(), from: at}
		switch {
		case skip != nil && skip(it.name):
			return fs.SkipDir
		case it.kind&fs.ModeSymlink != 0:
			it.from, err = os.Readlink(at)
		case it.kind.IsRegular():
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				it.run = info.Mode()&0o100 != 0
			}
		}
		wanted = append(wanted, it)
		return err
	})
	if *failed == nil {
		*failed = err
	}
	return wanted
}
