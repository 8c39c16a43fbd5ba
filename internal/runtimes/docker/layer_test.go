package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit"
)

// small is a spec whose program is none.
func small(t *testing.T) ImageSpec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perstack")
	if err := os.WriteFile(path, []byte("the program"), 0o600); err != nil {
		t.Fatal(err)
	}
	return ImageSpec{Binary: path, Roots: []byte("the roots\n")}
}

func TestLayer(t *testing.T) {
	for _, test := range []struct{ base, golden string }{{"", "layer.golden"}, {"debian", "layer_base.golden"}} {
		spec := small(t)
		spec.Base = test.base
		layer, err := spec.open()
		if err != nil {
			t.Fatal(err)
		}
		defer layer.Close()
		var data, out bytes.Buffer
		if err := archive.WriteTar(&data, layer.Files); err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(&data); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%c %04o %d:%d %s\n", h.Typeflag, h.Mode, h.Uid, h.Gid, h.Name)
			if _, err := io.Copy(&out, r); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Golden(t, test.golden, out.String())
	}
}

func TestDigestSaysWhatIsInside(t *testing.T) {
	first := small(t)
	digest := func(s ImageSpec, arch string) string {
		t.Helper()
		p, err := s.plan(arch, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.layer.Close()
		return p.image.Config.Labels[labelImage]
	}
	want := digest(first, "amd64")
	moved := small(t) // elsewhere, with another time
	if got := digest(moved, "amd64"); got != want {
		t.Errorf("the same files elsewhere: %s, want %s", got, want)
	}
	if got := digest(first, "arm64"); got == want {
		t.Error("another machine has the same digest")
	}
	other := first
	other.Roots = []byte("other roots\n")
	if got := digest(other, "amd64"); got == want {
		t.Error("other roots have the same digest")
	}
	if err := os.WriteFile(moved.Binary, []byte("The program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := digest(moved, "amd64"); got == want {
		t.Error("another program has the same digest")
	}
}

func TestSpecThatCannotBeRead(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "nothing"), t.TempDir()} {
		if l, err := (ImageSpec{Binary: path}).open(); err == nil {
			l.Close()
			t.Errorf("%q is taken for a program", path)
		}
	}
}
