//go:build root && linux

package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
)

// What the kernel makes up is neither read nor written, wherever it is mounted.
func TestRootMadeUpFiles(t *testing.T) {
	for kind, name := range map[string]string{"binfmt_misc": "status", "mqueue": "queue"} {
		h := newFixture(t)
		disk := filepath.Join(h.dir, "disk")
		if err := os.Mkdir(disk, 0o755); err != nil {
			t.Fatal(err)
		}
		err := syscall.Mount("none", disk, kind, 0, "")
		if errors.Is(err, syscall.ENODEV) {
			testkit.Missing(t, kind+" in this kernel")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
		file := filepath.Join(disk, name)
		if kind == "mqueue" { // it has no file until one is made
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			defer os.Remove(file)
		}
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		_, err = h.read("disk/" + name)
		wantCode(t, err, workspace.NotRegular, "")
		_, err = h.AppendFile(t.Context(), "disk/"+name, []byte("0"))
		wantCode(t, err, workspace.NotRegular, "")
	}
}
