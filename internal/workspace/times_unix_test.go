//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestStatTells(t *testing.T) {
	h := newFullFixture(t)
	read := time.Date(2020, 2, 3, 4, 5, 6, 7000, time.UTC)
	written := time.Date(2021, 2, 3, 4, 5, 6, 7000, time.UTC)
	path := filepath.Join(h.dir, "a.txt")
	if err := os.Chtimes(path, read, written); err != nil {
		t.Fatal(err)
	}
	info, err := h.Stat(t.Context(), "a.txt")
	if err != nil || !info.Accessed.Equal(read) || !info.Modified.Equal(written) {
		t.Errorf("%+v, %v", info, err)
	}
	// A file that was just made is not older than its test; where that is kept at all.
	if !info.Created.IsZero() && time.Since(info.Created) > time.Hour {
		t.Errorf("created %v", info.Created)
	}
	for name, want := range map[string]struct{ link, readable, dir bool }{
		"a.txt": {false, true, false}, "in": {true, true, false}, "dirlink": {true, true, true}, "src": {false, true, true},
		"dirlink/b.txt": {false, true, false}, "dirlink/..": {false, true, true}, ".": {false, true, true}, "pipe": {false, false, false},
	} {
		info, err := h.Stat(t.Context(), name)
		if err != nil || info.Link != want.link || info.Readable != want.readable || info.Dir != want.dir {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path) // the user root can
	if err == nil {
		f.Close()
	}
	if info, serr := h.Stat(t.Context(), "a.txt"); serr != nil || info.Readable != (err == nil) {
		t.Errorf("readable %t, though opening says %v", info.Readable, err)
	}
}
