package protect

import (
	"io/fs"
	"os"
	"syscall"
)

func statOf(info fs.FileInfo) stat {
	s := stat{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode, s.ChangeTime = uint64(st.Dev), st.Ino, st.Ctimespec.Nano()
	}
	return s
}

// bornAt returns when a file was made, in milliseconds since 1970; 0 if that is not known.
func bornAt(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Birthtimespec.Nano() / 1e6
}
