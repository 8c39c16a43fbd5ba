package file

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// The operations of the store that change the disk. Reading is not among them, nor is the
// lock, which never reaches the disk.
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

// A Disk intercepts the operations of the store, for tests of what happens when the disk
// fails or the process dies. It sees every operation and decides whether it takes place.
// It cannot change names, modes or checks.
type Disk interface {
	// Do is called for one operation: op is one of the Op constants, name the last part of
	// the path that is changed, and size the number of bytes of a write, 0 for others. run
	// carries it out; with a smaller size it writes the first bytes only. The store takes
	// the result of Do for the answer of the system.
	Do(op, name string, size int, run func(size int) error) error
}

// A disk carries out all operations of the store.
type disk struct{ hook Disk } // nil in the normal case

func (d disk) do(op, name string, run func() error) error {
	if d.hook == nil {
		return run()
	}
	return d.hook.Do(op, path.Base(filepath.ToSlash(name)), 0, func(int) error { return run() })
}

// writeAt writes data with one system call, unless the system accepts only a part.
func (d disk) writeAt(f *os.File, data []byte, offset int64) error {
	_, err := d.write(filepath.Base(f.Name()), data, func(data []byte) (int, error) { return f.WriteAt(data, offset) })
	return err
}

func (d disk) write(name string, data []byte, run func([]byte) (int, error)) (written int, err error) {
	if d.hook == nil {
		return run(data)
	}
	err = d.hook.Do(OpWrite, name, len(data), func(size int) error {
		written, err = run(data[:size])
		if err == nil && written < len(data) {
			err = io.ErrShortWrite
		}
		return err
	})
	return written, err
}

// A hookedWriter writes a file from its beginning to its end.
type hookedWriter struct {
	disk disk
	f    *os.File
	name string // for the hook
}

func (w *hookedWriter) Write(data []byte) (int, error) { return w.disk.write(w.name, data, w.f.Write) }

// sync makes a file or the entries of a directory durable.
func (d disk) sync(f *os.File) error {
	return d.do(OpSync, f.Name(), func() error { return datasync(f) })
}

func (d disk) allocate(f *os.File, from, to int64) error {
	return d.do(OpAllocate, f.Name(), func() error { return allocate(f, from, to) })
}

// create opens a file, and creates it if flag says so. as is the name for the hook.
func (d disk) create(dir *os.Root, name, as string, flag int) (f *os.File, err error) {
	err = d.do(OpCreate, as, func() error {
		f, err = dir.OpenFile(name, flag, fileMode)
		return err
	})
	if err != nil && f != nil { // the hook reports a failure
		f.Close()
		f = nil
	}
	return f, err
}

func (d disk) remove(dir *os.Root, name, as string) error {
	return d.do(OpRemove, as, func() error { return dir.Remove(name) })
}

// openRegular opens a file for reading. It does not block on a pipe, and refuses everything
// that is not a regular file.
func openRegular(dir *os.Root, name string) (*os.File, error) {
	return disk{}.openFile(dir, name, os.O_RDONLY) // without a hook: it changes nothing
}

func (d disk) openFile(dir *os.Root, name string, flag int) (*os.File, error) {
	refuse := func(mode fs.FileMode) error {
		return fmt.Errorf("%s is not a regular file (%s); move it away", filepath.Join(dir.Name(), name), kind(mode))
	}
	info, err := dir.Lstat(name)
	made := err != nil
	if !made && !info.Mode().IsRegular() {
		return nil, refuse(info.Mode())
	}
	var f *os.File
	if made && flag&os.O_CREATE != 0 {
		f, err = d.create(dir, name, name, flag|nonblock)
	} else {
		f, err = dir.OpenFile(name, flag|nonblock, fileMode)
	}
	switch {
	case err != nil && made && flag&os.O_CREATE != 0:
		return nil, unwritable(dir.Name(), err)
	case err != nil && flag&os.O_RDWR != 0:
		return nil, unwritable(filepath.Join(dir.Name(), name), err)
	case err != nil:
		return nil, err
	}
	info, err = f.Stat() // it may have been replaced meanwhile
	if err == nil && !info.Mode().IsRegular() {
		err = refuse(info.Mode())
	}
	if err == nil && flag&os.O_CREATE != 0 {
		err = d.keepPrivate(f, made)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// keepPrivate gives a file that we made the mode 0600, whatever the umask is. From other
// files, such as copies, it removes the rights of other users.
func (d disk) keepPrivate(f *os.File, made bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode, ok := privateMode(info.Mode(), fileMode, made)
	if ok {
		return nil
	}
	if err := d.do(OpChmod, f.Name(), func() error { return f.Chmod(mode) }); err != nil {
		return notPrivate(f.Name(), err)
	}
	return nil
}

func notPrivate(name string, err error) error {
	return fmt.Errorf("%s cannot be kept from other users: %w; use a storage directory of your own, on a file system with permissions", name, err)
}

// kind names the type of a file in words.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "it is a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "it is a pipe"
	case mode.IsDir():
		return "it is a directory"
	case mode.IsRegular():
		return "it is a file"
	}
	return "it is a device or a socket"
}
