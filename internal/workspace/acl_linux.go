package workspace

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const accessList = "system.posix_acl_access"

// keepAccess gives f the access list of the file that was looked at under a name, and
// returns the mode that f is to have. Beside a list the group bits of a mode mean
// something else: the most that anybody on the list gets. Without the list they would
// let in a group that the list keeps out.
//
// A list that a new file got from its directory goes, too, unless the old file had it.
func keepAccess(f *os.File, in folder, name string, old fs.FileInfo) fs.FileMode {
	mode := old.Mode().Perm()
	list, err := accessOf(in, name, old)
	switch {
	case err == nil && list == nil:
		if err := unix.Fremovexattr(int(f.Fd()), accessList); err == nil || isNoList(err) {
			return mode
		}
	case err == nil:
		if unix.Fsetxattr(int(f.Fd()), accessList, list, 0) == nil {
			return mode
		}
	}
	return mode &^ 0o070 // too little is not wrong
}

// accessOf returns the access list of the file that has the name, nil when it has none.
func accessOf(in folder, name string, old fs.FileInfo) ([]byte, error) {
	there, err := in.OpenFile(name, os.O_RDONLY|noFollow|noBlock, 0)
	if err != nil {
		return nil, err
	}
	defer there.Close()
	if info, err := there.Stat(); err != nil || !sameFile(info, old) {
		return nil, errChanged
	}
	for range 3 { // the list may grow between the questions
		size, err := unix.Fgetxattr(int(there.Fd()), accessList, nil)
		if isNoList(err) || err == nil && size == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		list := make([]byte, size)
		if size, err = unix.Fgetxattr(int(there.Fd()), accessList, list); err == nil {
			return list[:size], nil
		}
	}
	return nil, errChanged
}

// isNoList recognises that there is none, or that the file system has none.
func isNoList(err error) bool {
	return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}
