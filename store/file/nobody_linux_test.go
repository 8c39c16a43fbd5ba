package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
)

// nobody is a user who may do nothing in particular. The tests are often run by root,
// for whom there are no permissions.
const nobody = 65534

// asNobody calls f with the rights of nobody on files, if the process is root's.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	// Linux keeps this user for each thread, and takes the power over permissions away
	// from a thread while it is not root.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, _ = unix.SetfsuidRetUid(nobody) // it reports no failure, only who it was before
	defer func() { _, _ = unix.SetfsuidRetUid(0) }()
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != nobody {
		testkit.Missing(t, "the right to change the user of file accesses")
	}
	f()
}

// giveAway makes dir and everything in it nobody's, if the process is root's.
func giveAway(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
}
