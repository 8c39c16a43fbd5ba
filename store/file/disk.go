package file

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// What the store does to the disk. Reading is not among it, and neither is the lock,
// which never reaches the disk.
const (
	OpMkdir    = "mkdir"
	OpChmod    = "chmod"
	OpCreate   = "create"
	OpAllocate = "allocate"
	OpWrite    = "write"
	OpTruncate = "truncate"
	OpSync     = "sync" // of a file or a directory
	OpRename   = "rename"
	OpRemove   = "remove"
)

// A Disk stands between the store and the disk, for tests of what happens when the
// disk fails or the process dies. It sees every operation and decides whether it
// takes place. It cannot do one by other means than the store's own: names, modes
// and checks are not in its hands.
type Disk interface {
	// Do stands for one operation: op is one of the Op constants, name the last part
	// of the path of what is changed, and size the number of bytes that a write has, 0
	// for others. run carries it out, a write with its first bytes only if it is given
	// a smaller size. What Do returns is what the store takes for the system's answer.
	Do(op, name string, size int, run func(size int) error) error
}

// A disk carries out all operations of the store. Without a hook, which is the
// normal case, each is the plain call: nothing is allocated, and nothing is asked.
type disk struct{ hook Disk }

// do asks the hook, which there must be.
func (d disk) do(op, name string, run func() error) error {
	return d.hook.Do(op, path.Base(filepath.ToSlash(name)), 0, func(int) error { return run() })
}

// writeAt writes data with one system call, as long as the system takes all of it.
func (d disk) writeAt(f *os.File, data []byte, offset int64) error {
	if d.hook == nil {
		_, err := f.WriteAt(data, offset)
		return err
	}
	return d.hook.Do(OpWrite, filepath.Base(f.Name()), len(data), func(size int) error {
		n, err := f.WriteAt(data[:size], offset)
		return orShort(n, len(data), err)
	})
}

// writer returns f for writing from its beginning to its end.
func (d disk) writer(f *os.File, name string) io.Writer {
	if d.hook == nil {
		return f
	}
	return &hookedWriter{d, f, path.Base(name)}
}

type hookedWriter struct {
	disk disk
	f    *os.File
	name string
}

func (w *hookedWriter) Write(data []byte) (written int, err error) {
	err = w.disk.hook.Do(OpWrite, w.name, len(data), func(size int) error {
		written, err = w.f.Write(data[:size])
		return orShort(written, len(data), err)
	})
	return written, err
}

// orShort adds the error that an incomplete write has to have.
func orShort(written, size int, err error) error {
	if err == nil && written < size {
		return io.ErrShortWrite
	}
	return err
}

// sync makes a file or the entries of a directory durable.
func (d disk) sync(f *os.File) error {
	if d.hook == nil {
		return datasync(f)
	}
	return d.do(OpSync, f.Name(), func() error { return datasync(f) })
}

func (d disk) allocate(f *os.File, from, to int64) error {
	if d.hook == nil {
		return allocate(f, from, to)
	}
	return d.do(OpAllocate, f.Name(), func() error { return allocate(f, from, to) })
}

func (d disk) truncate(f *os.File, length int64) error {
	if d.hook == nil {
		return f.Truncate(length)
	}
	return d.do(OpTruncate, f.Name(), func() error { return f.Truncate(length) })
}

func (d disk) chmodFile(f *os.File, mode fs.FileMode) error {
	if d.hook == nil {
		return f.Chmod(mode)
	}
	return d.do(OpChmod, f.Name(), func() error { return f.Chmod(mode) })
}

// create opens a file, and creates it if flag says so. as is the name that a hook is told.
func (d disk) create(dir *os.Root, name, as string, flag int) (f *os.File, err error) {
	if d.hook == nil {
		return dir.OpenFile(name, flag, fileMode)
	}
	err = d.do(OpCreate, as, func() error {
		f, err = dir.OpenFile(name, flag, fileMode)
		return err
	})
	if err != nil && f != nil { // the hook says that it failed after all
		f.Close()
		f = nil
	}
	return f, err
}

func (d disk) rename(dir *os.Root, from, to string) error {
	if d.hook == nil {
		return dir.Rename(from, to)
	}
	return d.do(OpRename, to, func() error { return dir.Rename(from, to) })
}

func (d disk) remove(dir *os.Root, name, as string) error {
	if d.hook == nil {
		return dir.Remove(name)
	}
	return d.do(OpRemove, as, func() error { return dir.Remove(name) })
}

func (d disk) mkdir(dir *os.Root, name string) error {
	if d.hook == nil {
		return dir.Mkdir(name, dirMode)
	}
	return d.do(OpMkdir, name, func() error { return dir.Mkdir(name, dirMode) })
}

func (d disk) chmodDir(dir *os.Root, name string, mode fs.FileMode) error {
	if d.hook == nil {
		return dir.Chmod(name, mode)
	}
	return d.do(OpChmod, name, func() error { return dir.Chmod(name, mode) })
}

// makeAll creates the storage directory and what is missing above it.
func (d disk) makeAll(name string) error {
	if d.hook == nil {
		return os.MkdirAll(name, dirMode)
	}
	return d.do(OpMkdir, name, func() error { return os.MkdirAll(name, dirMode) })
}

// makePrivate gives the storage directory, which we have just made, its mode.
func (d disk) makePrivate(name string) error {
	if d.hook == nil {
		return os.Chmod(name, dirMode)
	}
	return d.do(OpChmod, name, func() error { return os.Chmod(name, dirMode) })
}
