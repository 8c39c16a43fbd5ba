package rewind_test

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// A restored file has the owner and the access list of the file that it replaces.
func TestRightsOfReplacedFilesStay(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before")
	first := f.take()
	f.write("a", "job")
	const name = "system.posix_acl_access"
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, entry := range [][3]uint32{{0x01, 6, ^uint32(0)}, {0x02, 6, 12345}, {0x04, 0, ^uint32(0)}, {0x10, 4, ^uint32(0)}, {0x20, 4, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(entry[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(entry[1]))
		list = binary.LittleEndian.AppendUint32(list, entry[2])
	}
	err := unix.Setxattr(f.path("a"), name, list, 0)
	if errors.Is(err, unix.ENOTSUP) {
		testkit.Missing(t, "access lists (ACL) in the file system of "+os.TempDir())
	}
	f.check(err)
	owner := os.Getuid()
	if owner == 0 {
		owner = 4711
		f.check(os.Chown(f.path("a"), owner, owner))
	}
	f.restore([]rewind.State{{Tree: first}, {Tree: f.take(), Job: true}}, rewind.Options{})
	if content, err := os.ReadFile(f.path("a")); err != nil || string(content) != "before" {
		t.Fatalf("%q, %v", content, err)
	}
	now := make([]byte, 1000)
	n, err := unix.Getxattr(f.path("a"), name, now)
	f.check(err)
	if string(now[:n]) != string(list) {
		t.Errorf("the access list is %x, want %x", now[:n], list)
	}
	info, err := os.Stat(f.path("a"))
	f.check(err)
	if is := int(info.Sys().(*syscall.Stat_t).Uid); is != owner {
		t.Errorf("the owner is %d, want %d", is, owner)
	}
}
