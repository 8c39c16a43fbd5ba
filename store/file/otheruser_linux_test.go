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

// otherUser is a user without special permissions. The tests are often run by root,
// for whom there are no permissions.
const otherUser = 65534

// asOtherUser calls f with the file permissions of otherUser, if the process is root's.
func asOtherUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	// Linux keeps this user for each thread, and takes the power over permissions away
	// from a thread while it is not root.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, _ = unix.SetfsuidRetUid(otherUser) // it reports no failure, only who it was before
	defer func() { _, _ = unix.SetfsuidRetUid(0) }()
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != otherUser {
		testkit.Missing(t, "the right to change the user of file accesses")
	}
	f()
}

// giveAway makes otherUser the owner of dir and everything in it, if the process is root's.
func giveAway(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, otherUser, otherUser)
	})
	if err != nil {
		t.Fatal(err)
	}
}
