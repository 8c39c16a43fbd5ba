package workspace

import (
	"context"
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
func (w *Workspace) OpenFile(ctx context.Context, name string) (*File, error) {
	var file *File
	err := w.at(ctx, name, false, func(p *place) error {
		if err := p.regular(); err != nil {
			return err
		}
		f, err := p.dir().OpenFile(p.name, os.O_RDONLY|noBlock, 0)
		if err != nil {
			return err
		}
		info, err := p.confirm(ctx, f)
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
func (p *place) regular() error {
	switch {
	case p.name == "":
		return fail(IsADirectory, p.given, "is a directory")
	case p.info == nil:
		return fail(NotFound, p.given, "does not exist")
	case !p.info.Mode().IsRegular():
		return fail(NotRegular, p.given, "is not a regular file (it is a pipe, a socket or a device)")
	}
	return nil
}

// confirm looks again, at the open handle.
func (p *place) confirm(ctx context.Context, f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := p.same(p.name, info); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || ofKernel(f) {
		return nil, fail(NotRegular, p.given, "is not a regular file")
	}
	if err := p.watch.refuse(p.given, info); err != nil {
		return nil, err
	}
	if linkCount(f, info) > 1 {
		if err := p.refuseTwin(ctx, info); err != nil {
			return nil, err
		}
	}
	return info, nil
}

// Stat describes what name leads to.
func (w *Workspace) Stat(ctx context.Context, name string) (Info, error) {
	var out Info
	err := w.at(ctx, name, false, func(p *place) error {
		info, err := p.stat()
		if err != nil {
			return err
		}
		out = w.describe(p.path(), info)
		return nil
	})
	return out, err
}

func (p *place) stat() (fs.FileInfo, error) {
	switch {
	case p.name == "":
		return p.dir().Stat(".")
	case p.info == nil:
		return nil, fail(NotFound, p.given, "does not exist")
	}
	return p.info, nil
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
