//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFindCoveredFollowsNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, ".env"))
	write(t, filepath.Join(dir, "real"))
	for name, target := range map[string]string{"out": outside, "loop": ".", "sub": "..", ".env": "real"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := FindCovered(t.Context(), dir)
	if err != nil || !slices.Equal(got.Hidden, []string{".env"}) {
		t.Errorf("FindCovered = %q, %v", got, err)
	}
}

// A directory that we cannot read is reported itself: another user perhaps can.
func TestFindCoveredUnreadable(t *testing.T) {
	dir := t.TempDir()
	shut := filepath.Join(dir, "a", "shut")
	write(t, filepath.Join(shut, ".env"))
	if err := os.Chmod(shut, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(shut, 0o700) })
	want := "a/shut"
	if _, err := os.ReadDir(shut); err == nil {
		want = "a/shut/.env" // root can read it
	}
	got, err := FindCovered(t.Context(), dir)
	if err != nil || !slices.Equal(got.Hidden, []string{want}) {
		t.Errorf("FindCovered = %q, %v, want %q", got, err, want)
	}
}
