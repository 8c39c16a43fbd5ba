package protect

import (
	"io/fs"
	"syscall"
)

func statOf(info fs.FileInfo) stat {
	s := stat{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode, s.ChangeTime = uint64(st.Dev), st.Ino, st.Ctimespec.Nano()
	}
	return s
}
