package state

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/userfile"
)

// The key is made once, even by many processes at once, and other users cannot read it.
func TestKeys(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "state"))
	if keys, err := dir.ReadKeys(); err != nil || len(keys) != 0 {
		t.Errorf("before: %v, %v", keys, err)
	}
	if _, err := os.Lstat(string(dir)); err == nil {
		t.Error("reading made the directory")
	}
	var wg sync.WaitGroup
	var all [16][]Key
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = dir.Keys(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, keys := range all {
		if len(keys) != 1 || keys[0] != all[0][0] || keys[0].Secret == [32]byte{} || keys[0].Made.IsZero() {
			t.Fatalf("%v and %v", keys, all[0])
		}
	}
	entries, err := os.ReadDir(string(dir))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	info, err := os.Stat(dir.KeyFile())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A new key comes first and the others stay. Of two processes that make one at once, none loses
// the key of the other.
func TestRotateKey(t *testing.T) {
	dir := Dir(t.TempDir())
	first, err := dir.Keys()
	if err != nil {
		t.Fatal(err)
	}
	second, err := dir.RotateKey()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := dir.Keys()
	if err != nil || len(keys) != 2 || keys[0] != second || keys[1] != first[0] {
		t.Errorf("%v, %v", keys, err)
	}
	if err := os.WriteFile(filepath.Join(string(dir), keysName+".new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.RotateKey(); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
	if again, err := dir.Keys(); err != nil || len(again) != 2 {
		t.Errorf("%v, %v", again, err)
	}
}

// A file that is not ours, open to others, or not of keys is refused, and no error repeats a
// secret.
func TestKeysRefused(t *testing.T) {
	secret := strings.Repeat("ab", 32)
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"empty":      {"", 0o600, "no key in it"},
		"text":       {"hello\n", 0o600, "line 1 is not a key"},
		"short":      {"2026-01-02T03:04:05Z " + secret[2:] + "\n", 0o600, "line 1 is not a key"},
		"not a time": {"yesterday " + secret + "\n", 0o600, "line 1 is not a key"},
		"not hex":    {"2026-01-02T03:04:05Z " + strings.Repeat("zz", 32) + "\n", 0o600, "line 1 is not a key"},
		"second":     {"2026-01-02T03:04:05Z " + secret + "\n" + secret + "\n", 0o600, "line 2 is not a key"},
		"readable":   {"2026-01-02T03:04:05Z " + secret + "\n", 0o640, "run: chmod 600 '"},
		"writable":   {"2026-01-02T03:04:05Z " + secret + "\n", 0o602, "run: chmod 600 '"},
	} {
		if tt.mode != 0o600 && runtime.GOOS == "windows" {
			continue
		}
		dir := Dir(filepath.Join(t.TempDir(), "my state")) // a shell would read two words
		if err := os.Mkdir(string(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir.KeyFile(), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir.KeyFile(), tt.mode); err != nil {
			t.Fatal(err)
		}
		_, err := dir.Keys()
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret[2:]) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if text, err := os.ReadFile(dir.KeyFile()); err != nil || string(text) != tt.text {
			t.Errorf("%s: it was changed to %q, %v", name, text, err)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("2026-01-02T03:04:05Z " + strings.Repeat("ab", 32) + "\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseKeys(text)
		if (err == nil) != (len(keys) > 0) {
			t.Errorf("%d keys, %v", len(keys), err)
		}
		if err == nil && bytes.Count(text, []byte(" ")) < len(keys) {
			t.Errorf("%d keys in %q", len(keys), text)
		}
	})
}

// What a project was before is known after a second move, too.
func TestAdopt(t *testing.T) {
	root := Dir(t.TempDir())
	var p [3]Project
	for i := range p {
		var err error
		if p[i], err = root.Project(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < 3; i++ {
		if err := p[i].Adopt(p[i-1]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p[2].TellOldHistory(); err != nil { // which writes the file again
		t.Fatal(err)
	}
	adopted, err := p[2].Adopted()
	if err != nil || len(adopted) != 2 || adopted[0] != p[0].ID() || adopted[1] != p[1].ID() {
		t.Errorf("%v, %v", adopted, err)
	}
}

// A key in a directory that others can write to can be replaced, and is refused.
func TestKeyInSharedDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	dir := Dir(t.TempDir())
	if err := os.Chmod(string(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Keys(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(string(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.ReadKeys(); !errors.Is(err, userfile.ErrSharedDir) {
		t.Errorf("%v, want %v", err, userfile.ErrSharedDir)
	}
}
