package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/perstack-go/perstack"

// A tree is the repository as the rules see it. It is read from the files alone, for
// all systems and build tags at once, without the go command and without the network.
type tree struct {
	fsys     fs.FS
	packages map[string][]*source // by directory, "." for the root
	pages    []*page
	nested   []*source // Go files of modules in this one, for which only the rules about words hold
}

// A source is a Go file.
type source struct {
	path, dir string
	test      bool
	lines     int
	syntax    *ast.File
	positions *token.FileSet
	imports   []imported
}

type imported struct {
	path string
	name string // how the file calls it
	line int
}

// A finding is one place where a rule is broken.
type finding struct {
	path string
	line int
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.what) }

func load(fsys fs.FS) (*tree, error) {
	t := &tree{fsys: fsys, packages: map[string][]*source{}}
	var modules []string
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if outside(fsys, name) {
				return fs.SkipDir
			}
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil && name != "." {
				modules = append(modules, name+"/...")
			}
			return nil
		case path.Ext(name) == ".go":
			file, err := parse(fsys, name)
			if err != nil {
				return err
			}
			if matches(strings.Join(modules, " "), file.dir) {
				t.nested = append(t.nested, file)
				return nil
			}
			t.packages[file.dir] = append(t.packages[file.dir], file)
		case path.Ext(name) == ".md" && !matches(strings.Join(modules, " "), path.Dir(name)):
			data, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			t.pages = append(t.pages, parsePage(name, string(data)))
		}
		return nil
	})
	return t, err
}

// outside says which directories are no part of the program: those that the go command
// ignores as well, what make builds, and the history of local runs.
func outside(fsys fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || dir == "bin" || dir == "perstack"
}

func parse(fsys fs.FS, name string) (*source, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	f := &source{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), positions: token.NewFileSet()}
	f.syntax, err = parser.ParseFile(f.positions, name, data, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	f.lines = strings.Count(string(data), "\n")
	for _, spec := range f.syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		name := importName(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		f.imports = append(f.imports, imported{target, name, f.line(spec)})
	}
	return f, nil
}

// importName guesses the name of a package from its path: the last part that is not a
// version.
func importName(target string) string {
	base := path.Base(target)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(target))
	}
	if base == "bubbletea" {
		return "tea"
	}
	return base
}

func (f *source) line(n ast.Node) int { return f.positions.Position(n.Pos()).Line }

// at reports a finding at a node of the file.
func (f *source) at(n ast.Node, format string, args ...any) finding {
	return finding{f.path, f.line(n), fmt.Sprintf(format, args...)}
}

// sources lists all Go files in order; tests only if wanted.
func (t *tree) sources(tests bool) (all []*source) {
	for _, files := range t.packages {
		for _, f := range files {
			if tests || !f.test {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b *source) int { return strings.Compare(a.path, b.path) })
	return all
}

// matches reports whether a path is meant by one of the patterns, which are written as
// for the go command: "store" is that package, "store/..." also everything below it,
// "..." everything.
func matches(patterns, name string) bool {
	for pattern := range strings.FieldsSeq(patterns) {
		parent, below := strings.CutSuffix(pattern, "/...")
		if pattern == "..." || name == parent || below && strings.HasPrefix(name, parent+"/") {
			return true
		}
	}
	return false
}
