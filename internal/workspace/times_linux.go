package workspace

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// times returns when a file was made and when it was last read, as far as info knows.
func times(info fs.FileInfo) (created, accessed time.Time) {
	if st, ok := info.(*status); ok {
		return created, time.Unix(st.Atim.Unix())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		accessed = time.Unix(st.Atim.Unix())
	}
	return created, accessed
}

// created asks the kernel. Not every file system keeps it.
func (p *place) created() (time.Time, bool) {
	d, err := p.dir().Open(".")
	if err != nil {
		return time.Time{}, false
	}
	defer d.Close()
	var st unix.Statx_t
	err = unix.Statx(int(d.Fd()), p.name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}, false
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), true
}
