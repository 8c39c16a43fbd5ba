package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// public are the packages that embedding programs can import.
var public = []string{".", "job", "expert", "event", "engine", "model", "skill", "store", "store/file", "store/memory", "store/storetest", "rawjson"}

// TestPublicAPI walks what embedding programs can see and fails on a type that they cannot
// name, or that comes from a module which promises no stability.
func TestPublicAPI(t *testing.T) {
	exports := exportData(t)
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data")
		}
		return os.Open(exports[path])
	})
	for _, dir := range public {
		path := module
		if dir != "." {
			path += "/" + dir
		}
		pkg, err := imp.Import(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, leak := range leaksOf(pkg) {
			t.Error(leak)
		}
	}
}

// TestPublicPackages fails on a package outside of internal that the list does not have.
func TestPublicPackages(t *testing.T) {
	for path := range exportData(t) {
		dir, ours := ownDir(path)
		if ours && !matches("internal/... cmd/... test/... bench/... examples/...", dir) && !slices.Contains(public, dir) {
			t.Errorf("%s can be imported by every program; move it below internal, or add it to the list", dir)
		}
	}
}

// exportData compiles the module, and returns the files with what each package exports.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Export", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
}

// leaksOf lists the exported names of a package whose types lead to one that does not
// belong in its API.
func leaksOf(pkg *types.Package) (leaks []string) {
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		w := &apiWalk{seen: make(map[types.Type]bool)}
		w.walk(object.Type(), pkg.Path()+"."+name)
		leaks = append(leaks, w.leaks...)
	}
	return leaks
}

type apiWalk struct {
	seen  map[types.Type]bool
	leaks []string
}

func (w *apiWalk) walk(t types.Type, at string) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.walk(types.Unalias(t), at)
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			w.walk(arg, at)
		}
		pkg := t.Obj().Pkg()
		if pkg == nil {
			return
		}
		if why := leak(pkg.Path()); why != "" {
			w.leaks = append(w.leaks, at+" has the type "+t.String()+", "+why)
			return
		}
		if !strings.HasPrefix(pkg.Path(), module) {
			return // a stable library
		}
		w.walk(t.Underlying(), at)
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), at+"."+m.Name())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.walk(f.Type(), at+"."+f.Name())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type(), at+"."+m.Name())
			}
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.walk(v.Type(), at)
		}
		for v := range t.Results().Variables() {
			w.walk(v.Type(), at)
		}
	case *types.Map:
		w.walk(t.Key(), at)
		w.walk(t.Elem(), at)
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		w.walk(t.Elem(), at)
	}
}

// leak says why a type of a package does not belong in the API; "" if it does.
func leak(path string) string {
	switch {
	case strings.Contains(path, "/internal/"):
		return "which only this module can import"
	case strings.HasPrefix(path, "github.com/go-json-experiment/"):
		return "which is experimental; use rawjson.Value"
	case strings.HasPrefix(path, "github.com/google/jsonschema-go/"), strings.HasPrefix(path, "github.com/modelcontextprotocol/"):
		return "which ties embedding programs to a library of ours"
	}
	return ""
}
