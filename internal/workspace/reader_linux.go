package workspace

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A reader is a regular file that is open for reading. An os.File would be registered
// with the poller and the collector, which takes longer than to read it.
type reader struct {
	lease
	fd   int
	left atomic.Int64 // bytes of the size it had when it was opened that are not read yet
}

// read opens a file for reading that was seen in the folder. What was seen only keeps
// pipes and devices from being opened: the caller decides on what the handle is.
func (d folder) read(name string, seen fs.FileInfo) (*reader, fs.FileInfo, error) {
	if err := single(name); err != nil {
		return nil, nil, err
	}
	// To open a file of the kernel can already do something.
	if identify(seen).dev != d.disk {
		there, err := d.look(name)
		if err != nil {
			return nil, nil, errChanged
		}
		defer there.drop()
		if madeUp(there.fd) {
			return nil, nil, errMadeUp
		}
	}
	// Without waiting: a pipe can have taken the name, and another process can keep a
	// file from being opened for a while (a lease).
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENXIO) {
		return nil, nil, errChanged // it is a link, nothing, or a socket by now
	}
	if err != nil {
		return nil, nil, err
	}
	st := &status{name: name}
	err = fstat(fd, &st.Stat_t)
	if err == nil && st.fileID().dev != d.disk && madeUp(fd) {
		err = errMadeUp
	}
	if err != nil {
		unix.Close(fd)
		return nil, nil, err
	}
	r := &reader{fd: fd}
	r.left.Store(st.Size())
	return r, st, nil
}

func (r *reader) Read(p []byte) (int, error) {
	if !r.use() {
		return 0, fs.ErrClosed
	}
	defer func() {
		if r.done() {
			unix.Close(r.fd)
		}
	}()
	for {
		n, err := unix.Read(r.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		// All that there was is read, and there was room for more: this is the end, and
		// the kernel need not be asked a second time. Sizes of 0 prove nothing.
		if left := r.left.Add(-int64(n)); left == 0 && n > 0 && n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}
}

func (r *reader) Close() error {
	first, last := r.end()
	switch {
	case !first:
		return fs.ErrClosed
	case last:
		return unix.Close(r.fd)
	}
	return nil
}

// names returns how many names the file has.
func (r *reader) names(info fs.FileInfo) int {
	if st, ok := info.(*status); ok {
		return int(st.Nlink)
	}
	return linkCount(nil, info)
}
