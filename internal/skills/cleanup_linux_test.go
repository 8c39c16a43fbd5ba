package skills

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/owner"
)

func TestRemoveAbandoned(t *testing.T) {
	dead := owner.This()
	dead.BootID = "00000000-0000-4000-8000-000000000000" // of another life of this machine
	if !dead.Dead() {
		t.Fatal("this system does not tell one life of the machine from another")
	}
	among, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(elsewhere, []byte(dead.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, ownerFile), []byte(text), 0o600) }
	}
	for name, c := range map[string]struct {
		make func(dir string) error
		gone bool
	}{
		"perstack-sandboxes-dead":    {write(dead.String()), true},
		"perstack-sandboxes-living":  {writeOwner, false},
		"perstack-sandboxes-nobody":  {func(string) error { return nil }, false},
		"perstack-sandboxes-strange": {write("whoever"), false},
		"perstack-sandboxes-link":    {func(dir string) error { return os.Symlink(elsewhere, filepath.Join(dir, ownerFile)) }, false},
		"other-sandboxes":            {write(dead.String()), false},
	} {
		dir := filepath.Join(among, name)
		if err := os.MkdirAll(filepath.Join(dir, "sandbox-x", "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.make(dir); err != nil {
			t.Fatal(err)
		}
		// What a sandbox leaves may lead anywhere; only the link goes.
		if err := os.Symlink(elsewhere, filepath.Join(dir, "sandbox-x", "out")); err != nil {
			t.Fatal(err)
		}
		removeAbandoned(among)
		if _, err := os.Lstat(dir); os.IsNotExist(err) != c.gone {
			t.Errorf("%s: gone %t, want %t", name, os.IsNotExist(err), c.gone)
		}
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}
