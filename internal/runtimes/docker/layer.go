package docker

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
)

const (
	maxBinary = 512 << 20 // bytes of the program; it has 30 MB

	nobody = 65534 // who runs if a container is not told who

	binaryPath = "/perstack"
	rootsPath  = "/etc/ssl/certs/ca-certificates.crt"
)

// An open layer holds the program open, so that what is loaded is what was measured even
// if somebody replaces the file in between.
type openLayer struct {
	*archive.Layer
	binary *os.File
}

func (l *openLayer) Close() error { return l.binary.Close() }

// open reads what spec names and lays it out as the file system of the container. The
// files belong to root and the container never runs as root: it cannot change them, not
// even if somebody forgets to make them read-only.
func (s ImageSpec) open() (*openLayer, error) {
	binary, err := os.Open(s.Binary)
	if err != nil {
		return nil, err
	}
	info, err := binary.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxBinary) {
		err = fmt.Errorf("%s is no regular file, or one of more than %d bytes", s.Binary, int64(maxBinary))
	}
	if err != nil {
		binary.Close()
		return nil, err
	}
	program := archive.File{Path: binaryPath, Mode: 0o555, Body: io.NewSectionReader(binary, 0, info.Size())}
	layer, err := archive.NewLayer(s.files(program))
	if err != nil {
		binary.Close()
		return nil, err
	}
	return &openLayer{Layer: layer, binary: binary}, nil
}

// files lists the layer. On a base image, users and the order of name services are its own.
func (s ImageSpec) files(program archive.File) []archive.File {
	files := []archive.File{
		{Path: "/etc", Mode: 0o755},
		{Path: "/etc/ssl", Mode: 0o755},
		{Path: "/etc/ssl/certs", Mode: 0o755},
		{Path: rootsPath, Mode: 0o444, Body: io.NewSectionReader(bytes.NewReader(s.Roots), 0, int64(len(s.Roots)))},
	}
	if s.Base == "" {
		files = append(files,
			archive.File{Path: "/etc/group", Mode: 0o444, Body: archive.Text("root:x:0:\nperstack:x:65534:\n")},
			archive.File{Path: "/etc/nsswitch.conf", Mode: 0o444, Body: archive.Text("hosts: files dns\n")},
			archive.File{Path: "/etc/passwd", Mode: 0o444, Body: archive.Text(
				"root:x:0:0:root:/:/nonexistent\nperstack:x:65534:65534:perstack:" + homeDir + ":/nonexistent\n")},
		)
	}
	return append(files,
		archive.File{Path: "/home", Mode: 0o755},
		// Of root, like /tmp, and open to all: what is mounted there takes over the mode, and
		// sandboxes have directories of their own in it. Its owner could close it to the others.
		archive.File{Path: homeDir, Mode: 0o1777},
		archive.File{Path: "/tmp", Mode: 0o1777},
		archive.File{Path: workDir, Mode: 0o755, UID: nobody, GID: nobody},
		program,
	)
}
