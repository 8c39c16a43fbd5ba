//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// inode tells whether a file is still the same one.
func inode(t *testing.T, h *fixture, name string) uint64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func TestAppendFile(t *testing.T) {
	h := newFullFixture(t)
	t.Run("in place", func(t *testing.T) {
		before := inode(t, h, "a.txt")
		info, err := h.AppendFile(t.Context(), "a.txt", []byte("more\x00\xff"))
		if got, _ := h.read("a.txt"); err != nil || got != "alpha\nmore\x00\xff" || info.Size != int64(len(got)) || info.Path != filepath.Join(h.dir, "a.txt") {
			t.Errorf("%q, %+v, %v", got, info, err)
		}
		if inode(t, h, "a.txt") != before {
			t.Error("the file was replaced")
		}
	})
	t.Run("through a link", func(t *testing.T) {
		info, err := h.AppendFile(t.Context(), "in", []byte("more"))
		if got, _ := h.read("src/b.txt"); err != nil || got != "beta\nmore" || info.Path != filepath.Join(h.dir, "src/b.txt") {
			t.Errorf("%q, %+v, %v", got, info, err)
		}
	})
	t.Run("several names", func(t *testing.T) {
		other := filepath.Join(h.outside, "twin")
		if err := os.Link(filepath.Join(h.dir, "tree/x"), other); err != nil {
			t.Fatal(err)
		}
		info, err := h.AppendFile(t.Context(), "tree/x", []byte("more"))
		if got, _ := h.read("tree/x"); err != nil || got != "xmore" || info.Size != 5 {
			t.Errorf("%q, %+v, %v", got, info, err)
		}
		if got, _ := os.ReadFile(other); string(got) != "x" {
			t.Errorf("written through a hard link: %q", got)
		}
	})
	t.Run("rights of the owner", func(t *testing.T) {
		path := filepath.Join(h.dir, "tree/y/z")
		if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		_, err := h.AppendFile(t.Context(), "tree/y/z", []byte("more"))
		info, serr := os.Stat(path)
		if err != nil || serr != nil || info.Mode() != 0o755 || info.Size() != 5 {
			t.Errorf("%v, %v, %v", err, serr, info)
		}
	})
}

// What append and edit refuse, they refuse alike, and neither makes anything.
func TestAppendAndEditRefused(t *testing.T) {
	h := newFullFixture(t)
	put(t, filepath.Join(h.dir, "perstack", "jobs", "j2", "journal.jsonl"), canary)
	for name, old := range map[string]string{"h1": ".env", "h2": "perstack/jobs/j2/journal.jsonl", "h3": "app/.env.local"} {
		if err := os.Link(filepath.Join(h.dir, old), filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := h.all(t)
	for _, tt := range []refusal{
		{"none", workspace.NotFound, "does not exist"},
		{"none/x", workspace.NotFound, "does not exist"},
		{"none/", workspace.NotFound, "does not exist"},
		{"dangling", workspace.NotFound, "symbolic link"},
		{"src", workspace.IsADirectory, "is a directory"},
		{".", workspace.IsADirectory, "is a directory"},
		{"dirlink", workspace.IsADirectory, "is a directory"},
		{"a.txt/", workspace.NotADirectory, "is not a directory"},
		{"pipe", workspace.NotRegular, "is not a regular file"},
		{"ro.txt", workspace.NotWritable, "is not writable: its owner may not write it"},
		{"full/ro.txt", workspace.NotWritable, "is not writable"},
		{"leak", workspace.OutsideWorkspace, "symbolic link"},
		{"abs/secret.txt", workspace.OutsideWorkspace, "symbolic link"},
		{"../outside/secret.txt", workspace.OutsideWorkspace, "path outside"},
		{"perstack/jobs/j1", workspace.Protected, "is protected"},
		{"p/jobs/j1", workspace.Protected, "is protected"},
		{".env", workspace.Protected, "is protected"},
		{"e", workspace.Protected, "is protected"},
		{"keys.txt", workspace.Protected, "is protected"},
		{"twin", workspace.Protected, "is protected"},
		{"h1", workspace.Protected, "is protected"},
		{"h2", workspace.Protected, "is protected"},
		{"h3", workspace.Protected, "is protected"},
		{".git/config", workspace.Protected, "is protected"},
		{"g/config", workspace.Protected, "is protected"},
		{"proj/.GIT/config", workspace.Protected, "is protected"},
		{"perstack.toml", workspace.NotWritable, "is not writable"},
	} {
		_, err := h.AppendFile(t.Context(), tt.name, []byte("planted"))
		wantCode(t, err, tt.code, tt.fragment)
		_, err = h.EditFile(t.Context(), tt.name, 1000, func([]byte) ([]byte, error) {
			t.Errorf("edit %s was shown the content", tt.name)
			return []byte("planted"), nil
		})
		wantCode(t, err, tt.code, tt.fragment)
		if after := h.all(t); after != before {
			t.Fatalf("%s was refused and changed something:\n%s", tt.name, after)
		}
	}
}

func TestEditFile(t *testing.T) {
	h := newFullFixture(t)
	if err := os.Chmod(filepath.Join(h.dir, "a.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	info, err := h.EditFile(t.Context(), "a.txt", 6, func(old []byte) ([]byte, error) {
		return []byte(strings.ToUpper(string(old)) + "!"), nil
	})
	if got, _ := h.read("a.txt"); err != nil || got != "ALPHA\n!" || info.Size != 7 || info.Mode != 0o751 {
		t.Errorf("%q, %+v, %v", got, info, err)
	}
	mine := errors.New("no match")
	_, err = h.EditFile(t.Context(), "a.txt", 100, func([]byte) ([]byte, error) { return []byte("x"), mine })
	if got, _ := h.read("a.txt"); err != mine || got != "ALPHA\n!" { // as it is, not wrapped
		t.Errorf("%q, %v", got, err)
	}
	_, err = h.EditFile(t.Context(), "a.txt", 6, func([]byte) ([]byte, error) { return nil, mine })
	wantCode(t, err, workspace.TooLarge, "7 bytes")
	_, err = h.EditFile(t.Context(), "rodir/x", 100, func([]byte) ([]byte, error) { return nil, nil })
	wantCode(t, err, workspace.NotWritable, "is not writable")
	ctx, cancel := context.WithCancel(t.Context())
	_, err = h.EditFile(ctx, "a.txt", 100, func([]byte) ([]byte, error) { cancel(); return nil, nil })
	wantCode(t, err, workspace.Interrupted, "interrupted")
	if got, _ := h.read("a.txt"); got != "ALPHA\n!" {
		t.Errorf("an interrupted edit left %q", got)
	}
}

// Changes of one file by many calls at once are all there in the end, by whichever of
// its paths they come.
func TestChangesAreNotLost(t *testing.T) {
	h := newFullFixture(t)
	put(t, filepath.Join(h.dir, "src", "b.txt"), "")
	const n = 50
	var wg sync.WaitGroup
	for i := range n {
		line := fmt.Appendf(nil, "line %02d\n", i)
		name := []string{"in", "src/b.txt", "dirlink/b.txt"}[i%3]
		wg.Go(func() {
			if _, err := h.AppendFile(t.Context(), name, line); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := h.EditFile(t.Context(), name, 1<<20, func(old []byte) ([]byte, error) { return append(line, old...), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := h.read("src/b.txt")
	if err != nil || len(got) != 2*n*len("line 00\n") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for i := range n {
		if c := strings.Count(got, fmt.Sprintf("line %02d\n", i)); c != 2 {
			t.Errorf("line %d is there %d times", i, c)
		}
	}
	if left := h.Waiting(); left != 0 {
		t.Errorf("%d places are remembered", left)
	}
}

// A file is not moved or deleted while it is edited: the edit would bring it back.
func TestMoveAndRemoveWaitForEdit(t *testing.T) {
	calls := map[string]func(*fixture) error{
		"move":   func(h *fixture) error { _, _, err := h.Move(t.Context(), "a.txt", "b.txt"); return err },
		"remove": func(h *fixture) error { _, err := h.RemoveFile(t.Context(), "a.txt"); return err },
	}
	for name, call := range calls {
		h := newFullFixture(t)
		done := make(chan error, 1)
		_, err := h.EditFile(t.Context(), "a.txt", 100, func([]byte) ([]byte, error) {
			go func() { done <- call(h) }()
			for h.Claims("a.txt") < 2 && len(done) == 0 {
				runtime.Gosched()
			}
			return []byte("edited"), nil
		})
		if other := <-done; err != nil || other != nil {
			t.Errorf("%s: %v, %v", name, err, other)
		}
		if got, err := h.read("b.txt"); h.exists("a.txt") || name == "move" && (got != "edited" || err != nil) {
			t.Errorf("%s: moved %q, %v; the old is there: %t", name, got, err, h.exists("a.txt"))
		}
	}
}

// A call that waits for its turn waits no longer than its caller.
func TestTurnsHonourContext(t *testing.T) {
	h := newFullFixture(t)
	inside, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := h.EditFile(t.Context(), "a.txt", 100, func(old []byte) ([]byte, error) {
			close(inside)
			<-release
			return old, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	for name, call := range map[string]func(context.Context) error{
		"WriteFile":  func(ctx context.Context) error { _, err := h.WriteFile(ctx, "a.txt", nil); return err },
		"AppendFile": func(ctx context.Context) error { _, err := h.AppendFile(ctx, "a.txt", nil); return err },
		"EditFile": func(ctx context.Context) error {
			_, err := h.EditFile(ctx, "a.txt", 100, func(old []byte) ([]byte, error) { return nil, nil })
			return err
		},
		"RemoveFile": func(ctx context.Context) error { _, err := h.RemoveFile(ctx, "a.txt"); return err },
		"Move":       func(ctx context.Context) error { _, _, err := h.Move(ctx, "a.txt", "b.txt"); return err },
		"Move to":    func(ctx context.Context) error { _, _, err := h.Move(ctx, "tree", "b"); return err },
		"RemoveDir":  func(ctx context.Context) error { _, err := h.RemoveDir(ctx, "tree", true); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- call(ctx) }()
		cancel()
		if err := <-failed; !isCode(err, workspace.Interrupted) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(release)
	wg.Wait()
	if got, _ := h.read("a.txt"); got != "alpha\n" || !h.exists("tree/y/z") || h.Waiting() != 0 {
		t.Errorf("%q, %d places are remembered", got, h.Waiting())
	}
}

// A call whose caller has gone changes nothing.
func TestChangesHonourContext(t *testing.T) {
	h := newFullFixture(t)
	before := h.all(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"ReadFile":   func() error { _, _, err := h.ReadFile(ctx, "a.txt", 100); return err },
		"WriteFile":  func() error { _, err := h.WriteFile(ctx, "new/x", nil); return err },
		"AppendFile": func() error { _, err := h.AppendFile(ctx, "a.txt", []byte("x")); return err },
		"EditFile": func() error {
			_, err := h.EditFile(ctx, "a.txt", 100, func([]byte) ([]byte, error) { return nil, nil })
			return err
		},
		"Move":        func() error { _, _, err := h.Move(ctx, "a.txt", "new/x"); return err },
		"Move a tree": func() error { _, _, err := h.Move(ctx, "tree", "new/x"); return err },
		"RemoveFile":  func() error { _, err := h.RemoveFile(ctx, "a.txt"); return err },
		"RemoveDir":   func() error { _, err := h.RemoveDir(ctx, "tree", true); return err },
		"rmdir":       func() error { _, err := h.RemoveDir(ctx, "empty", false); return err },
		"MakeDir":     func() error { _, err := h.MakeDir(ctx, "new"); return err },
	} {
		if err := call(); !isCode(err, workspace.Interrupted) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := h.all(t); after != before || h.Waiting() != 0 {
		t.Errorf("changed:\n%s\nbefore:\n%s", after, before)
	}
}
