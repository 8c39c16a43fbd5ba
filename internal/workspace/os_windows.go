package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// noBlock is not needed: named pipes are not found in directories.
const noBlock = 0

// keepOwner does nothing: a new file inherits the access list of its directory.
func keepOwner(*os.File, fs.FileInfo) bool { return true }

// linkCount returns how many names a file has; many, when that cannot be told.
func linkCount(f *os.File, _ fs.FileInfo) int {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err != nil {
		return 2
	}
	return int(info.NumberOfLinks)
}
