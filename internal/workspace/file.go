package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// An Info describes a file or directory.
type Info struct {
	Path     string // absolute, links resolved
	Dir      bool
	Size     int64
	Modified time.Time
	Mode     fs.FileMode
}

// A File is a regular file that is open for reading.
type File struct {
	Info
	f *os.File
}

// Read reads on.
func (f *File) Read(p []byte) (int, error) { return f.f.Read(p) }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// OpenFile opens a regular file for reading. Directories, pipes, devices and files of
// the kernel are refused, and refusing them does not block.
func (w *Workspace) OpenFile(name string) (*File, error) {
	var file *File
	err := w.at(name, false, func(p *place) error {
		if err := p.regular(name); err != nil {
			return err
		}
		f, err := p.dir().OpenFile(p.name, os.O_RDONLY|noBlock, 0)
		if err != nil {
			return err
		}
		info, err := p.confirm(name, f)
		if err != nil {
			f.Close()
			return err
		}
		file = &File{Info: w.describe(p.path(), info), f: f}
		return nil
	})
	return file, err
}

// regular refuses, before anything is opened, what is known not to be a file.
func (p *place) regular(given string) error {
	switch {
	case p.name == "":
		return fail(IsADirectory, given, "is a directory")
	case p.info == nil:
		return fail(NotFound, given, "does not exist")
	case !p.info.Mode().IsRegular():
		return fail(NotRegular, given, "is not a regular file (it is a pipe, a socket or a device)")
	}
	return nil
}

// confirm looks again, at the open handle.
func (p *place) confirm(given string, f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := p.same(p.name, info); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || ofKernel(f) {
		return nil, fail(NotRegular, given, "is not a regular file")
	}
	if err := p.watch.refuse(given, p.path(), info); err != nil {
		return nil, err
	}
	return info, nil
}

// Stat describes what name leads to.
func (w *Workspace) Stat(name string) (Info, error) {
	var out Info
	err := w.at(name, false, func(p *place) error {
		info := p.info
		if p.name == "" {
			var err error
			if info, err = p.dir().Stat("."); err != nil {
				return err
			}
		} else if info == nil {
			return fail(NotFound, name, "does not exist")
		}
		out = w.describe(p.path(), info)
		return nil
	})
	return out, err
}

func (w *Workspace) describe(trail []string, info fs.FileInfo) Info {
	return Info{
		Path:     w.absolute(trail),
		Dir:      info.IsDir(),
		Size:     info.Size(),
		Modified: info.ModTime(),
		Mode:     info.Mode(),
	}
}

func (w *Workspace) absolute(trail []string) string {
	return filepath.Join(append([]string{w.real}, trail...)...)
}
