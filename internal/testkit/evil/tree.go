package evil

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A Tree is a hostile workspace with what it must not reach.
type Tree struct {
	Root    string // the workspace
	Outside string // beside it: what no tool may see or change
	Storage string // perstack in the workspace, with the history of a job
	Journal string // a file in it

	// LeftOut is what this file system or this user cannot have, by the id of the
	// attack, with the reason. A test that needs one of these says so.
	LeftOut map[string]string

	attacks  []Attack
	canaries map[string]string // value by where it is
	before   map[string]entry  // the outside as it was built
}

// Workspace builds a hostile workspace in a temporary directory.
func Workspace(tb testing.TB) *Tree {
	tb.Helper()
	dir := tb.TempDir()
	tb.Cleanup(func() { open(dir) })
	tree, err := Build(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

// open makes directories without read permission removable again.
func open(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			if chmod := os.Chmod(path, 0o700); chmod != nil {
				return chmod
			}
			if err != nil {
				open(path) // it could not be read before; now it can
				return fs.SkipDir
			}
		}
		return nil
	}) // the directory is about to be removed, which reports what is left
}

// Build builds a hostile workspace below an existing, empty directory.
func Build(dir string) (*Tree, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	t := &Tree{
		Root:     filepath.Join(dir, "ws"),
		Outside:  filepath.Join(dir, "outside"),
		LeftOut:  map[string]string{},
		canaries: map[string]string{},
	}
	t.Storage = filepath.Join(t.Root, "perstack")
	t.Journal = filepath.Join(t.Storage, "jobs", "x", "journal.jsonl")
	for _, plant := range []func() error{
		t.plantOutside, t.plantProtected, t.plantLinks, t.plantTwins, t.plantSpecial, t.plantNames, t.plantContents, t.plantModes, t.plantGit, t.spell,
	} {
		if err := plant(); err != nil {
			return nil, fmt.Errorf("build a hostile workspace: %w", err)
		}
	}
	if t.before, err = snapshot(t.watched()); err != nil {
		return nil, fmt.Errorf("build a hostile workspace: %w", err)
	}
	return t, nil
}

// watched lists what must stay as it is. Of the storage it is one job, since a run in
// this workspace adds its own.
func (t *Tree) watched() []string {
	return []string{t.Outside, t.Root + "foo", filepath.Dir(t.Journal), t.in(".env"), t.in(".env.local"), t.in("sub/.env.production"), t.in(".git")}
}

// plantOutside makes the tree beside the workspace.
func (t *Tree) plantOutside() error {
	for name, text := range map[string]string{
		"outside/secret.txt":      t.canary("outside/secret.txt"),
		"outside/.env":            "KEY=" + t.canary("outside/.env"),
		"outside/deep/nested.txt": t.canary("outside/deep/nested.txt"),
		"outside/picture.png":     png + t.canary("outside/picture.png"),
		"outside/paper.pdf":       pdf + t.canary("outside/paper.pdf"),
		"outside/empty/.keep":     "",
		"wsfoo/secret.txt":        t.canary("wsfoo/secret.txt"),
		"ws/plain.txt":            "alpha\nbeta\n",
		"ws/dir/inner.txt":        "inner\n",
		"ws/folder/inner.txt":     "inner\n",
	} {
		if err := t.file(filepath.Join(filepath.Dir(t.Root), filepath.FromSlash(name)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The first bytes by which programs know these types.
const (
	png = "\x89PNG\r\n\x1a\n"
	pdf = "%PDF-1.7\n"
)

// canary makes a value that exists nowhere else and remembers where it is.
func (t *Tree) canary(place string) string {
	value := "canary-" + strings.ToLower(rand.Text())
	t.canaries[place] = value
	return value
}

// file writes a file and makes the directories above it.
func (t *Tree) file(path, text string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

// in is the path of a name in the workspace.
func (t *Tree) in(name string) string { return filepath.Join(t.Root, filepath.FromSlash(name)) }

// Check reports everything outside the workspace, and everything in it that no tool may
// touch, that is not as it was built: names, types, modes, sizes, contents, times.
func (t *Tree) Check(tb testing.TB) {
	tb.Helper()
	for _, change := range t.Changes() {
		tb.Errorf("outside of the workspace: %s", change)
	}
}

// Changes is [Tree.Check] for programs that are no tests.
func (t *Tree) Changes() []string {
	now, err := snapshot(t.watched())
	if err != nil {
		return []string{err.Error()}
	}
	return compare(t.before, now)
}

// Leaked names the secrets that a text gives away, by where they are: as they are, in
// hexadecimal or in base64.
func (t *Tree) Leaked(text string) []string {
	var found []string
	for _, place := range slices.Sorted(maps.Keys(t.canaries)) {
		if slices.ContainsFunc(spellings(t.canaries[place]), func(s string) bool { return strings.Contains(text, s) }) {
			found = append(found, place)
		}
	}
	return found
}
