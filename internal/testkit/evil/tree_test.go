package evil_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/internal/workspace"
)

// On Linux every attack can be planted, apart from those that root does not feel.
func TestNothingIsLeftOut(t *testing.T) {
	tree := evil.Workspace(t)
	seen := map[string]bool{}
	for _, a := range tree.Attacks() {
		if seen[a.ID] || a.ID == "" || a.What == "" {
			t.Errorf("%+v is not well described, or there twice", a)
		}
		seen[a.ID] = true
	}
	for id, why := range tree.LeftOut {
		byRoot := os.Geteuid() == 0 && strings.HasPrefix(why, "root ")
		if seen[id] || why == "" || runtime.GOOS == "linux" && !byRoot {
			t.Errorf("%s is left out: %s", id, why)
		}
	}
}

// The table is compared with the path checks: what it expects is what happens.
func TestAttacksOnTheWorkspace(t *testing.T) {
	tree := evil.Workspace(t)
	w, err := workspace.Open(tree.Root, workspace.Options{Protected: []string{tree.Storage}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ops := map[evil.Op]func(path string) (string, error){
		evil.Read: func(path string) (string, error) {
			f, err := w.OpenFile(t.Context(), path)
			if err != nil {
				return "", err
			}
			defer f.Close()
			data, err := io.ReadAll(io.LimitReader(f, 1<<20))
			return string(data), err
		},
		evil.List: func(path string) (string, error) {
			l, err := w.ReadDir(t.Context(), path, 0, 10_000)
			return fmt.Sprint(l.Entries), err
		},
		evil.Info: func(path string) (string, error) {
			info, err := w.Stat(t.Context(), path)
			return fmt.Sprintf("%v", info), err
		},
		evil.Write: func(path string) (string, error) {
			info, err := w.WriteFile(t.Context(), path, []byte("planted"))
			return fmt.Sprintf("%v", info), err
		},
	}
	tried := 0
	for _, op := range []evil.Op{evil.Read, evil.List, evil.Info, evil.Write} { // writing comes last: it changes the tree
		for _, a := range tree.Attacks() {
			got, err := ops[op](a.Path)
			if want, ok := a.Expect[op]; ok {
				tried++
				if code := codeOf(err); code != want {
					t.Errorf("%s %s (%.60q): %s, want %s: %v", op, a.ID, a.Path, code, want, err)
				}
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if leaked := tree.Leaked(got + message); leaked != nil {
				t.Errorf("%s %s gives away %v", op, a.ID, leaked)
			}
		}
	}
	tree.Check(t)
	if tried < 200 {
		t.Errorf("only %d expectations", tried)
	}
}

func codeOf(err error) string {
	var e *workspace.Error
	switch {
	case err == nil:
		return evil.Works
	case errors.As(err, &e):
		return string(e.Code)
	}
	return err.Error()
}

// Every kind of change outside the workspace is seen.
func TestCheckSeesChanges(t *testing.T) {
	tree := evil.Workspace(t)
	if changes := tree.Changes(); changes != nil {
		t.Fatalf("untouched: %v", changes)
	}
	secret := filepath.Join(tree.Outside, "secret.txt")
	info, err := os.Stat(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		what, want string
		do, undo   func() error
	}{
		{"a new file", "is new", func() error { return os.WriteFile(filepath.Join(tree.Outside, "new"), nil, 0o600) },
			func() error { return os.Remove(filepath.Join(tree.Outside, "new")) }},
		{"one that came and went", "came and went", func() error { return nil }, func() error { return nil }},
		{"a mode", "has mode", func() error { return os.Chmod(secret, 0o600) }, func() error { return os.Chmod(secret, 0o644) }},
		{"a content of the same size", "another content", func() error { return os.WriteFile(secret, make([]byte, info.Size()), 0o644) }, nil},
		{"a file that is gone", "is gone", func() error { return os.Remove(secret) }, nil},
		{"an env file", ".env has another content", func() error { return os.WriteFile(filepath.Join(tree.Root, ".env"), []byte("x"), 0o600) }, nil},
		{"a journal", "journal.jsonl is gone", func() error { return os.Remove(tree.Journal) }, nil},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		if changes := tree.Changes(); !slices.ContainsFunc(changes, func(s string) bool { return strings.Contains(s, change.want) }) {
			t.Errorf("%s: %q", change.what, changes)
		}
		if change.undo != nil {
			if err := change.undo(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestLeaked(t *testing.T) {
	tree := evil.Workspace(t)
	data, err := os.ReadFile(filepath.Join(tree.Outside, "secret.txt"))
	if err != nil {
		t.Fatal(err)
	}
	secret := string(data)
	for name, text := range map[string]string{
		"raw":           "it is " + secret + "!",
		"hex":           hex.EncodeToString([]byte("it is " + secret)),
		"base64":        base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, moved": base64.StdEncoding.EncodeToString([]byte("a" + secret + "bcd")),
		"base64, more":  base64.StdEncoding.EncodeToString([]byte("ab" + secret + "c")),
	} {
		if got := tree.Leaked(text); !slices.Equal(got, []string{"outside/secret.txt"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := tree.Leaked(secret[:len(secret)-1]); got != nil {
		t.Errorf("half a secret: %q", got)
	}
}
