// Package archive writes images in the form that Docker loads: one layer, its description,
// and a list of both, as a tar. It needs no builder and no base image.
//
// The same files give the same bytes, on every machine and at any time: only what a [File]
// contains goes in. Start reading at [NewLayer], then [Image.Write].
package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"
	"time"
)

// A File is a file of a layer, a directory, or a link.
type File struct {
	Path     string // in the image, absolute, with slashes
	Mode     int64  // permissions, as chmod takes them
	UID, GID int
	Body     *io.SectionReader // nil for a directory and a link
	Link     string            // where a symbolic link leads; empty if it is none
}

// Text is the body of a file with this content.
func Text(content string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(content), 0, int64(len(content)))
}

// A Layer is what files become in an image.
type Layer struct {
	Size   int64  // as a tar
	DiffID string // digest of the tar, sha256:<hex>: its name wherever it is
	Files  []File
}

// NewLayer reads the files once to compute the digest of the layer. They are read again
// when it is written: bodies must not change until then, or the daemon refuses the layer.
func NewLayer(files []File) (*Layer, error) {
	sum := &counter{hash: sha256.New()}
	if err := WriteTar(sum, files); err != nil {
		return nil, err
	}
	return &Layer{
		Size:   sum.n,
		DiffID: "sha256:" + hex.EncodeToString(sum.hash.Sum(nil)),
		Files:  files,
	}, nil
}

// WriteTar writes files as the tar that a layer is, in their order.
func WriteTar(w io.Writer, files []File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := f.write(t); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return t.Close()
}

func (f *File) write(t *tar.Writer) error {
	if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
		return fmt.Errorf("not a clean absolute path")
	}
	header := entry(strings.TrimPrefix(f.Path, "/"), f.Mode)
	header.Uid, header.Gid = f.UID, f.GID
	switch {
	case f.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.Link
		return t.WriteHeader(header)
	case f.Body == nil:
		header.Typeflag = tar.TypeDir
		header.Name += "/"
		return t.WriteHeader(header)
	}
	header.Size = f.Body.Size()
	return writeEntry(t, header, io.NewSectionReader(f.Body, 0, header.Size))
}

// entry is a header without anything that differs from one machine or minute to the next.
func entry(name string, mode int64) *tar.Header {
	return &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Mode:     mode,
		ModTime:  time.Unix(0, 0),
		Format:   tar.FormatUSTAR,
	}
}

func writeEntry(t *tar.Writer, header *tar.Header, body io.Reader) error {
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(t, body)
	return err
}

// A counter is a hash that also counts the bytes written to it.
type counter struct {
	hash hash.Hash
	n    int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.hash.Write(p)
}
