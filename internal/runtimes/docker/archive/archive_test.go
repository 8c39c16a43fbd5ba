package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

func sample() []File {
	return []File{
		{Path: "/etc", Mode: 0o755},
		{Path: "/etc/passwd", Mode: 0o444, Body: Text("perstack:x:65534:65534::/:\n")},
		{Path: "/home", Mode: 0o700, UID: 7, GID: 8},
		{Path: "/link", Mode: 0o777, Link: "program"},
		{Path: "/program", Mode: 0o555, Body: Text(strings.Repeat("code", 1000))},
	}
}

func write(t *testing.T, files []File) []byte {
	t.Helper()
	layer, err := NewLayer(files)
	if err != nil {
		t.Fatal(err)
	}
	image := Image{Arch: "amd64", Config: Config{
		User:       "65534:65534",
		Entrypoint: []string{"/program"},
		Labels:     map[string]string{"b": "2", "a": "1", "c": "3"},
	}}
	var out bytes.Buffer
	if err := image.Write(&out, "name:tag", layer); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// list describes everything in a tar, and in the tars in it.
func list(t *testing.T, out io.Writer, indent string, archive io.Reader) {
	t.Helper()
	r := tar.NewReader(archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "%s%c %04o %d:%d %q:%q %d %s %q %d\n", indent, h.Typeflag, h.Mode, h.Uid, h.Gid, h.Uname, h.Gname, h.ModTime.Unix(), h.Name, h.Linkname, h.Size)
		switch {
		case strings.HasSuffix(h.Name, ".tar"):
			list(t, out, indent+"  ", r)
		case strings.HasSuffix(h.Name, ".json"):
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(out, "%s  %s\n", indent, data)
		}
	}
}

func TestImage(t *testing.T) {
	var out bytes.Buffer
	list(t, &out, "", bytes.NewReader(write(t, sample())))
	testkit.Golden(t, "image.golden", out.String())
}

func TestSameFilesGiveSameBytes(t *testing.T) {
	first := write(t, sample())
	for range 20 { // labels are a map
		if !bytes.Equal(first, write(t, sample())) {
			t.Fatal("the bytes differ")
		}
	}
	other := sample()
	other[1].Mode = 0o644
	if bytes.Equal(first, write(t, other)) {
		t.Error("another mode gives the same bytes")
	}
}

func TestLayerIsNamedAfterItsBytes(t *testing.T) {
	layer, err := NewLayer(sample())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteTar(&out, layer.Files); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(out.Bytes())
	if want := "sha256:" + hex.EncodeToString(sum[:]); layer.DiffID != want || layer.Size != int64(out.Len()) {
		t.Errorf("layer %s of %d bytes, want %s of %d", layer.DiffID, layer.Size, want, out.Len())
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	for _, path := range []string{"", "/", "etc", "/etc/", "/a/../b", "/../etc", "//etc", "/./etc"} {
		if _, err := NewLayer([]File{{Path: path, Mode: 0o755}}); err == nil {
			t.Errorf("%q is taken", path)
		}
	}
}

// A program that shrinks while it is sent must not end up in an image, filled up with
// something else.
func TestFileThatChangedIsRefused(t *testing.T) {
	content := &shrinking{data: []byte("0123456789")}
	layer, err := NewLayer([]File{{Path: "/program", Mode: 0o555, Body: io.NewSectionReader(content, 0, 10)}})
	if err != nil {
		t.Fatal(err)
	}
	content.data = content.data[:4]
	image := Image{Arch: "amd64"}
	if err := image.Write(io.Discard, "name:tag", layer); err == nil {
		t.Error("a shorter file is taken")
	}
}

type shrinking struct{ data []byte }

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.data).ReadAt(p, off)
}
