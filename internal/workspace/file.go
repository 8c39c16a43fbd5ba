package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// An Info describes a file or directory.
type Info struct {
	Path     string // absolute, links resolved
	Dir      bool
	Size     int64
	Modified time.Time
	Created  time.Time // zero when it is not known
	Accessed time.Time // zero when it is not known
	Mode     fs.FileMode
	Link     bool // the name that was given is a link to it; only Stat tells
	Readable bool // it can be opened for reading; only Stat tries
}

// A File is a regular file that is open for reading.
type File struct {
	Info
	f    *reader
	info fs.FileInfo // of the open file
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
		f, info, err := p.open(ctx)
		if err != nil {
			return err
		}
		file = &File{Info: w.describe(p.path(), info), f: f, info: info}
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

// errMadeUp says that a file is none: the kernel makes up what is in it.
var errMadeUp = errors.New("it is made up by the kernel")

// open opens the file at the place for reading.
func (p *place) open(ctx context.Context) (*reader, fs.FileInfo, error) {
	p.trace("open")
	f, info, err := p.dir().read(p.name, p.info)
	if errors.Is(err, errMadeUp) {
		return nil, nil, fail(NotRegular, p.given, "is not a regular file")
	}
	if err != nil {
		return nil, nil, err
	}
	if err := p.confirm(ctx, f, info); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// confirm refuses a file that is open by what its handle says: it can have become
// another one, or another name of one, since it was looked at.
func (p *place) confirm(ctx context.Context, f *reader, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fail(NotRegular, p.given, "is not a regular file")
	}
	if err := p.watch.refuse(p.given, info); err != nil {
		return err
	}
	if f.names(info) > 1 {
		return p.refuseTwin(ctx, info)
	}
	return nil
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
		p.complete(&out)
		return nil
	})
	if err == nil {
		out.Link = w.isLink(ctx, name)
	}
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
	created, accessed := times(info)
	return Info{
		Path:     w.absolute(trail),
		Dir:      info.IsDir(),
		Size:     info.Size(),
		Modified: info.ModTime(),
		Created:  created,
		Accessed: accessed,
		Mode:     info.Mode(),
	}
}

func (w *Workspace) absolute(trail []string) string {
	if len(trail) == 0 {
		return w.real
	}
	var path strings.Builder
	path.Grow(200)
	path.WriteString(strings.TrimSuffix(w.real, string(filepath.Separator)))
	for _, name := range trail {
		path.WriteByte(filepath.Separator)
		path.WriteString(name)
	}
	return path.String()
}
