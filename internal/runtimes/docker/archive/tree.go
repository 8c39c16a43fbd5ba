package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxTreeEntries = 200_000
	maxTreeSize    = 2 << 30 // bytes
	maxTreeName    = 1024    // bytes of a path in the tree
)

// A Tree is a directory of the host that goes into an image, where it belongs to root and is
// read-only. It has regular files, directories, and links that stay inside. Only content
// and names of the host go in: no owners, no times, and of the permissions only whether a
// file is a program.
type Tree struct {
	Size int64 // bytes of all files

	root    *os.Root
	at      string
	entries []treeEntry
}

type treeEntry struct {
	path string // in the tree, with slashes
	info fs.FileInfo
	link string
}

// OpenTree reads everything below dir, which will be the directory at in the image. skip
// says what is left out, with everything below it.
func OpenTree(dir, at string, skip func(path string) bool) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &Tree{root: root, at: at}
	// Names are sorted in each directory, so that the same files give the same bytes.
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case skip != nil && skip(name):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err := t.add(name, d); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return t, nil
}

// Close closes the directory.
func (t *Tree) Close() error { return t.root.Close() }

func (t *Tree) add(name string, d fs.DirEntry) error {
	if err := checkName(name); err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	e := treeEntry{path: name, info: info}
	switch {
	case info.IsDir():
	case info.Mode().IsRegular():
		t.Size += info.Size()
	case info.Mode()&fs.ModeSymlink != 0:
		if e.link, err = t.linkAt(name); err != nil {
			return err
		}
	default:
		return errors.New("it is neither a file nor a directory")
	}
	t.entries = append(t.entries, e)
	if len(t.entries) > maxTreeEntries || t.Size > maxTreeSize {
		return fmt.Errorf("there is too much: more than %d files, or %d bytes", maxTreeEntries, int64(maxTreeSize))
	}
	return nil
}

// checkName refuses names with a special meaning to the daemon or to terminals.
func checkName(name string) error {
	base := path.Base(name)
	switch {
	case len(name) > maxTreeName:
		return fmt.Errorf("its path has more than %d bytes", maxTreeName)
	case strings.HasPrefix(base, ".wh."):
		// In a layer this removes a file of the layers below, and with dots behind it what
		// is around it.
		return errors.New("a file of this name would remove another one in an image")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, `\`):
		return errors.New("its name has characters that no file of a package needs")
	}
	return nil
}

// linkAt reads a link that leads to something in the tree. Both what it says and where it
// leads in the end count: a link to a link could do what neither says.
func (t *Tree) linkAt(name string) (string, error) {
	target, err := t.root.Readlink(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	target = filepath.ToSlash(target)
	if path.IsAbs(target) || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target))) {
		return "", errors.New("it is a link that leads out of the package")
	}
	if err := checkName(target); err != nil {
		return "", err
	}
	if _, err := t.root.Stat(filepath.FromSlash(name)); err != nil {
		return "", fmt.Errorf("it is a link that leads nowhere in the package: %w", err)
	}
	return target, nil
}

// Write writes the tree as a tar: parents, which are the directories around it that the
// image does not have yet, then the tree.
func (t *Tree) Write(w io.Writer, parents ...string) error {
	out := tar.NewWriter(w)
	for _, dir := range append(parents, t.at) {
		f := File{Path: dir, Mode: 0o755}
		if err := f.write(out); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, e := range t.entries {
		if err := t.write(out, e); err != nil {
			return fmt.Errorf("%q: %w", e.path, err)
		}
	}
	return out.Close()
}

func (t *Tree) write(out *tar.Writer, e treeEntry) error {
	// Paths of packages can be too long for the oldest tar format; the newer format is used
	// for those alone.
	header := &tar.Header{Name: strings.TrimPrefix(path.Join(t.at, e.path), "/"), ModTime: time.Unix(0, 0)}
	switch {
	case e.link != "":
		header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.link, 0o777
		return out.WriteHeader(header)
	case e.info.IsDir():
		header.Typeflag, header.Mode = tar.TypeDir, 0o755
		header.Name += "/"
		return out.WriteHeader(header)
	}
	f, err := t.root.Open(filepath.FromSlash(e.path))
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(now, e.info) || now.Size() != e.info.Size() {
		return errors.New("it changed while it was read")
	}
	start := make([]byte, min(4, now.Size()))
	if _, err := io.ReadFull(f, start); err != nil {
		return err
	}
	header.Typeflag, header.Size, header.Mode = tar.TypeReg, now.Size(), 0o444
	if now.Mode()&0o111 != 0 || isProgram(start) {
		header.Mode = 0o555
	}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	// One byte more than there should be is an error of the tar, one less is ours.
	n, err := io.Copy(out, io.MultiReader(bytes.NewReader(start), f))
	if err == nil && n != header.Size {
		err = errors.New("it changed while it was read")
	}
	return err
}

// isProgram reports whether the first bytes of a file show that it can be run. Package
// managers do not mark all programs as executable.
func isProgram(start []byte) bool {
	return bytes.HasPrefix(start, []byte("#!")) || bytes.HasPrefix(start, []byte("\x7fELF"))
}
