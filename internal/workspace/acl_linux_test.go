package workspace_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
)

const aclName, aclDefault = "system.posix_acl_access", "system.posix_acl_default"

// acl returns a list as the kernel keeps it: the owner reads and writes, so does user
// 12345, the group may do nothing, and so may the others.
func acl() []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, entry := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, ^uint32(0)}, {0x02, 6, 12345}, {0x04, 0, ^uint32(0)}, {0x10, 6, ^uint32(0)}, {0x20, 0, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, entry.tag)
		list = binary.LittleEndian.AppendUint16(list, entry.perm)
		list = binary.LittleEndian.AppendUint32(list, entry.id)
	}
	return list
}

func setACL(t *testing.T, path, name string) {
	t.Helper()
	err := unix.Setxattr(path, name, acl(), 0)
	if errors.Is(err, unix.ENOTSUP) {
		testkit.Missing(t, "access lists (ACL) in the file system of "+os.TempDir())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func aclOf(t *testing.T, path string) string {
	t.Helper()
	list := make([]byte, 1000)
	n, err := unix.Getxattr(path, aclName, list)
	if err != nil && !errors.Is(err, unix.ENODATA) {
		t.Fatal(err)
	}
	return string(list[:max(n, 0)])
}

// A file that is rewritten keeps its access list: no user gains or loses access.
func TestWriteKeepsAccessList(t *testing.T) {
	h := newFixture(t)
	in := func(name string) string { return filepath.Join(h.dir, name) }
	put(t, in("listed"), "old")
	setACL(t, in("listed"), aclName)
	put(t, in("dir/plain"), "old")
	put(t, in("dir/open"), "old")
	if err := errors.Join(os.Chmod(in("dir/plain"), 0o640), os.Chmod(in("dir/open"), 0o664)); err != nil {
		t.Fatal(err)
	}
	setACL(t, in("dir"), aclDefault)
	for name, want := range map[string]struct {
		mode os.FileMode
		list string
	}{
		"listed":    {0o660, string(acl())},
		"dir/plain": {0o640, ""}, // not what its directory gives to new files
		"dir/open":  {0o664, ""},
	} {
		for _, operation := range []string{"write", "edit", "append"} {
			if err := h.operate(t, operation, name); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(in(name))
			if err != nil {
				t.Fatal(err)
			}
			if got := aclOf(t, in(name)); info.Mode() != want.mode || got != want.list {
				t.Errorf("%s of %s: mode %o with list %x, want %o with %x", operation, name, info.Mode(), got, want.mode, want.list)
			}
		}
	}
	if err := h.operate(t, "write", "dir/new"); err != nil {
		t.Fatal(err)
	}
	if aclOf(t, in("dir/new")) == "" {
		t.Error("a new file has nothing of the list of its directory")
	}
}
