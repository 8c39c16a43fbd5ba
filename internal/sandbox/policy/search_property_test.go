package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/expert"
)

// In random trees, with links everywhere, each protected name is protected, and nothing lets a
// program replace one.
func TestSearchProperty(t *testing.T) {
	names := []string{".env", ".env.local", ".env.example", "perstack.toml", ".git", "config", "hooks", "HEAD", "objects", "refs", "commondir", "a", "b", "perstack", "jobs"}
	base := tempDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "case")
		if err != nil {
			rt.Fatal(err)
		}
		some := func(label string) string {
			return filepath.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(rt, label)...)
		}
		for range rapid.IntRange(1, 15).Draw(rt, "files") {
			path := filepath.Join(dir, some("path"))
			if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
				continue // there is a file on the way
			}
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				_ = os.Symlink(filepath.Join(dir, some("target")), path)
			case 1:
				if rel, err := filepath.Rel(filepath.Dir(path), filepath.Join(dir, some("target"))); err == nil {
					_ = os.Symlink(rel, path)
				}
			case 2:
				_ = os.Mkdir(path, 0o700)
			default:
				_ = os.WriteFile(path, []byte("gitdir: "+some("target")), 0o600)
			}
		}
		found, err := Search(t.Context(), dir, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		checkFound(rt, dir, found)
	})
}

func checkFound(t *rapid.T, dir string, found *Protected) {
	p := &Policy{Level: expert.SandboxFull, Workspace: Workspace{Path: dir}, Hidden: found.Hidden, Frozen: found.Frozen, Pinned: found.Pinned}
	if err := p.Validate(); err != nil || len(found.Write) > 0 {
		t.Fatalf("%v, %v", err, found.Write)
	}
	within := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(top string) bool { return path == top || strings.HasPrefix(path, top+"/") })
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		name := filepath.Base(rel)
		inGit := strings.HasPrefix(rel, ".git/") || strings.Contains(rel, "/.git/")
		switch {
		case err != nil:
			return err
		case (name == ".env" || name == ".env.local") && !within(found.Hidden, rel):
			t.Errorf("%s is not hidden", rel)
		case name == ".git" && !within(slices.Concat(found.Hidden, found.Frozen, found.Pinned), rel):
			t.Errorf("%s is not protected", rel)
		case filepath.Base(filepath.Dir(rel)) == ".git" && (name == "config" || name == "hooks") && !within(slices.Concat(found.Hidden, found.Frozen), rel):
			t.Errorf("%s can be changed", rel)
		}
		if name == "perstack.toml" && !inGit && !within(slices.Concat(found.Hidden, found.Frozen), rel) && !inRepository(dir, rel) {
			t.Errorf("%s can be changed", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found.Frozen {
		if within(found.Hidden, path) {
			t.Errorf("%s is frozen, and hidden with %v", path, found.Hidden)
		}
		for above := filepath.Dir(path); above != "."; above = filepath.Dir(above) {
			if !slices.Contains(found.Pinned, above) {
				t.Errorf("%s is not pinned, so %s can be replaced", above, path)
			}
		}
	}
	for _, list := range [][]string{found.Hidden, found.Frozen, found.Pinned} {
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("not sorted, or twice the same: %v", list)
		}
	}
	for _, path := range slices.Concat(found.Hidden, found.Frozen, found.Pinned) {
		info, err := os.Lstat(filepath.Join(dir, path))
		if err != nil || slices.Contains(found.Pinned, path) && !info.IsDir() {
			t.Errorf("%s cannot be mounted on: %v", path, err)
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.Dir(path))); err != nil || real != filepath.Join(dir, filepath.Dir(path)) {
			t.Errorf("%s has a link on the way: %s, %v", path, real, err)
		}
	}
}

// inRepository reports whether a directory above a path is what git takes for a repository.
func inRepository(dir, rel string) bool {
	for rel != "." {
		rel = filepath.Dir(rel)
		has := func(name string) bool {
			_, err := os.Lstat(filepath.Join(dir, rel, name))
			return err == nil
		}
		if has("HEAD") && (has("commondir") || has("objects") && has("refs")) {
			return true
		}
	}
	return false
}
