package protect

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// bornAt returns when a file was made, in milliseconds since 1970; 0 if that is not known.
func bornAt(path string) int64 {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &st) != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1000 + int64(st.Btime.Nsec)/1e6
}

func statOf(info fs.FileInfo) stat {
	s := stat{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode, s.ChangeTime = uint64(st.Dev), st.Ino, st.Ctim.Nano() //nolint:unconvert // the types differ between systems
	}
	return s
}
