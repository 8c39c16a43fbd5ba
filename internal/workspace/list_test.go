package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

func isCode(err error, code workspace.Code) bool {
	var e *workspace.Error
	return errors.As(err, &e) && e.Code == code
}

func show(l workspace.Listing) []string {
	var out []string
	for _, e := range l.Entries {
		kind := "file"
		if e.Dir {
			kind = "dir"
		}
		if e.Link {
			kind += " link"
		}
		out = append(out, fmt.Sprintf("%s %s %t", e.Name, kind, !e.Modified.IsZero()))
	}
	return out
}

func TestReadDir(t *testing.T) {
	h := newFixture(t)
	for _, name := range []string{"Z", "b", "ä", ".hidden", ".env.local", ".env.sample"} {
		put(t, filepath.Join(h.dir, name), "x")
	}
	h.link(t, "src", "linkDir")
	h.link(t, "a.txt", "linkFile")
	h.link(t, "../outside/secret.txt", "linkOut")
	h.link(t, h.outside, "linkAbs")
	h.link(t, "nowhere", "linkGone")
	h.link(t, "perstack", "linkStore")
	h.link(t, ".env", "linkEnv")
	if err := os.Link(filepath.Join(h.dir, ".env"), filepath.Join(h.dir, "hard")); err != nil {
		t.Fatal(err)
	}
	got, err := h.ReadDir(t.Context(), ".", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		".env.sample file true", ".hidden file true", "Z file true", "a.txt file true", "b file true",
		"linkAbs file link false", "linkDir dir link true", "linkEnv file link false", "linkFile file link true",
		"linkGone file link false", "linkOut file link false", "linkStore file link false", "src dir true", "ä file true",
	}
	if !slices.Equal(show(got), want) {
		t.Errorf("entries\n%q, want\n%q", show(got), want)
	}
	if got.Path != h.dir {
		t.Errorf("path %q", got.Path)
	}
	for _, e := range got.Entries {
		if e.Name == "linkOut" && e.Size != 0 {
			t.Error("the size of a file outside is shown")
		}
	}

	if sub, err := h.ReadDir(t.Context(), "linkDir", 0, 10); err != nil || !slices.Equal(show(sub), []string{"b.txt file true"}) {
		t.Errorf("linked directory: %q, %v", show(sub), err)
	}
	for name, code := range map[string]workspace.Code{
		"perstack": workspace.Protected, "linkStore": workspace.Protected, "linkAbs": workspace.OutsideWorkspace,
		"..": workspace.OutsideWorkspace, "none": workspace.NotFound, "a.txt": workspace.NotADirectory,
	} {
		_, err := h.ReadDir(t.Context(), name, 0, 10)
		wantCode(t, err, code, "")
	}
}

// What a killed process left is not listed. It can be read and deleted by its name, and
// whatever only resembles it is listed.
func TestReadDirUnfinished(t *testing.T) {
	h := newFixture(t)
	const left = ".perstack-abcdefghij27.tmp"
	shown := []string{
		".perstack-.tmp", ".perstack-abcdefghij2.tmp", ".perstack-abcdefghij277.tmp", ".perstack-abcdefghij_7.tmp",
		".perstack-abcdefghij28.tmp", "perstack-abcdefghij27.tmp", ".perstack-abcdefghij27.tmpx",
	}
	for _, name := range append(shown, left) {
		put(t, filepath.Join(h.dir, "dir", name), "x")
	}
	l, err := h.ReadDir(t.Context(), "dir", 0, 100)
	if err != nil || l.Total != len(shown) {
		t.Fatalf("%d entries, %v", l.Total, err)
	}
	for _, e := range l.Entries {
		if !slices.Contains(shown, e.Name) {
			t.Errorf("%s is listed", e.Name)
		}
	}
	if got, err := h.read("dir/" + left); got != "x" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := h.RemoveFile(t.Context(), "dir/"+left); err != nil {
		t.Error(err)
	}
}

func TestReadDirPages(t *testing.T) {
	h := newFixture(t)
	for i := range 25 {
		put(t, filepath.Join(h.dir, "many", fmt.Sprintf("%02d", i)), "")
	}
	tests := []struct{ offset, limit, first, n int }{
		{0, 10, 0, 10}, {20, 10, 20, 5}, {25, 10, 0, 0}, {1 << 30, 10, 0, 0}, {24, 1 << 30, 24, 1}, {-5, 2, 0, 2}, {0, 0, 0, 0}, {0, -1, 0, 0},
	}
	for _, tt := range tests {
		l, err := h.ReadDir(t.Context(), "many", tt.offset, tt.limit)
		if err != nil || l.Total != 25 || len(l.Entries) != tt.n || tt.n > 0 && l.Entries[0].Name != fmt.Sprintf("%02d", tt.first) {
			t.Errorf("ReadDir(%d, %d) = %+v, %v", tt.offset, tt.limit, l, err)
		}
	}
}

func TestStatAndOpenDir(t *testing.T) {
	h := newFixture(t)
	h.link(t, "src", "dir")
	h.link(t, "../outside", "rel")
	h.link(t, "perstack/jobs", "jobs")
	if info, err := h.Stat(t.Context(), "dir/b.txt"); err != nil || info.Size != 5 || info.Dir || info.Path != filepath.Join(h.dir, "src", "b.txt") {
		t.Errorf("Stat = %+v, %v", info, err)
	}
	if info, err := h.Stat(t.Context(), "dir"); err != nil || !info.Dir {
		t.Errorf("Stat = %+v, %v", info, err)
	}
	d, err := h.OpenDir(t.Context(), "dir")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Path != filepath.Join(h.dir, "src") {
		t.Errorf("Path = %q", d.Path)
	}
	if names, err := d.File.Readdirnames(-1); err != nil || len(names) != 1 || names[0] != "b.txt" {
		t.Errorf("File() has %q: %v", names, err)
	}
	for name, code := range map[string]workspace.Code{
		"rel": workspace.OutsideWorkspace, "rel/x": workspace.OutsideWorkspace, "..": workspace.OutsideWorkspace,
		"perstack": workspace.Protected, "jobs": workspace.Protected, "none": workspace.NotFound,
	} {
		_, err := h.Stat(t.Context(), name)
		wantCode(t, err, code, "")
		_, err = h.OpenDir(t.Context(), name)
		wantCode(t, err, code, "")
	}
	_, err = h.OpenDir(t.Context(), "a.txt")
	wantCode(t, err, workspace.NotADirectory, "is not a directory")
}
