//go:build root && unix

package skills

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/expert"
)

// Root's skills run without the powers of root: they could not read what a container of another
// user has left.
func TestRootDataDirChangesItsOwner(t *testing.T) {
	in := t.TempDir()
	e, k := &expert.Expert{Key: "e"}, &expert.Skill{Name: "k"}
	dir, err := DataDir(in, e, k, 1000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "data")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []int{1000, 0} {
		if _, err := DataDir(in, e, k, uid, uid); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, file} {
			if info, err := os.Lstat(path); err != nil || !isOwner(info, uid) {
				t.Errorf("%s does not belong to user %d (%v)", path, uid, err)
			}
		}
		if info, err := os.Lstat(outside); err != nil || !isOwner(info, 0) {
			t.Errorf("a file outside was given to user %d (%v)", uid, err)
		}
	}
}
