package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/perstack-go/perstack/internal/opendir"
)

// What its owner needs to read a file, and to look into a directory.
const (
	readFile = 0o400
	readDir  = 0o500
)

// Closed reports whether the mode of a file or a directory keeps its owner from reading it.
func (e *Entry) Closed() bool {
	return e.Kind == File && e.Mode&readFile != readFile || e.Kind == Directory && e.Mode&readDir != readDir
}

// A closedDir is a directory that was made readable for the snapshot.
type closedDir struct {
	path string
	is   opendir.Stamp
	bits uint16 // that it did not have
}

// makeReadable makes a directory readable until the end of the snapshot, if it has to be. If that is not
// possible, the directory is not captured.
func (s *scan) makeReadable(parent opendir.Dir, path string, n *node) {
	if !n.entry.Closed() || s.options.Readable == nil || !s.options.Readable(path) {
		return
	}
	bits := readDir &^ n.entry.Mode
	if parent.SetBits(n.entry.Name, n.stamp, bits, true) == nil {
		s.opened = append(s.opened, closedDir{path, n.stamp, bits})
	}
}

// closeAgain gives the directories their modes back, those deep down first.
func (s *scan) closeAgain(root opendir.Dir) (err error) {
	for _, l := range slices.Backward(s.opened) {
		dir, name := Parent(l.path), l.path[len(Parent(l.path)):]
		if dir != "" {
			name = name[1:]
		}
		w := writing{root: root}
		d, e := w.openDir(dir)
		if e == nil {
			e = d.SetBits(name, l.is, l.bits, false)
		}
		w.end()
		if !errors.Is(e, fs.ErrNotExist) && !errors.Is(e, fs.ErrInvalid) { // it is gone, or another one
			err = errors.Join(err, e)
		}
	}
	return err
}

// readClosed opens a file, and makes it readable for that moment if it has to be.
func (w *writing) readClosed(d opendir.Dir, f pendingFile) (*os.File, error) {
	e := &f.node.entry
	file, err := d.Read(e.Name)
	if readable := w.scan.options.Readable; !errors.Is(err, fs.ErrPermission) || !e.Closed() || readable == nil || !readable(join(f.dir, e.Name)) {
		return file, err
	}
	if d.SetBits(e.Name, f.node.stamp, readFile, true) != nil {
		return nil, err
	}
	file, err = d.Read(e.Name)
	if closed := d.SetBits(e.Name, f.node.stamp, readFile, false); err == nil && closed != nil {
		return nil, errors.Join(closed, file.Close())
	}
	return file, err
}
