package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

func TestPrepare(t *testing.T) {
	dir := filepath.Join(tempDir(t), "cache")
	caches := []Cache{{Path: "/p", Lower: "/l", Upper: filepath.Join(dir, "go-build")}, {Path: "/q", Upper: filepath.Join(dir, "npm")}}
	var slots []*Slot
	for i := range maxSlots {
		s, err := Prepare(t.Context(), caches)
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, s)
		number := filepath.Base(filepath.Dir(s.Caches[0].Upper))
		if want := filepath.Join(dir, "go-build", number); s.Caches[0] != (Cache{Path: "/p", Lower: "/l", Upper: want + "/upper", Work: want + "/work"}) {
			t.Errorf("slot %d: %+v", i, s.Caches)
		}
		for _, c := range s.Caches {
			for _, path := range []string{c.Upper, c.Work} {
				if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeDir|0o700 {
					t.Errorf("%s: %v, %v", path, info, err)
				}
			}
		}
	}
	if _, err := Prepare(t.Context(), caches); !errors.Is(err, ErrSlots) {
		t.Errorf("with one too many: %v", err)
	}
	for i, s := range slots {
		for _, other := range slots[:i] {
			if s.Caches[0].Upper == other.Caches[0].Upper {
				t.Errorf("two sandboxes have %s", s.Caches[0].Upper)
			}
		}
	}
	if err := slots[3].Release(); err != nil {
		t.Fatal(err)
	}
	s, err := Prepare(t.Context(), caches)
	if err != nil || s.Caches[1].Upper != slots[3].Caches[1].Upper {
		t.Errorf("the slot that was released is not taken: %+v, %v", s, err)
	}
	if diff := cmp.Diff(filepath.Join(dir, "go-build"), caches[0].Upper); diff != "" {
		t.Errorf("the argument was changed: %s", diff)
	}
	if s, err := Prepare(t.Context(), nil); err != nil || len(s.Caches) != 0 || s.Release() != nil {
		t.Errorf("without caches: %+v, %v", s, err)
	}
}

func TestPrepareEmptiesLargeCaches(t *testing.T) {
	dir := tempDir(t)
	caches := []Cache{{Path: "/p", Upper: filepath.Join(dir, "go-mod")}, {Path: "/q", Upper: filepath.Join(dir, "npm")}}
	again := func() *Slot {
		t.Helper()
		s, err := prepare(t.Context(), caches, 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := again()
	large, small := s.Caches[0], s.Caches[1]
	outside := filepath.Join(dir, "outside")
	build(t, dir, "outside/file")
	for path, text := range map[string]string{
		filepath.Join(large.Upper, "a"): "12345", filepath.Join(large.Upper, "m/b"): "678901", filepath.Join(large.Work, "work/x"): "", filepath.Join(small.Upper, "keep"): "1234567890",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o400)); err != nil {
			t.Fatal(err)
		}
	}
	// As the module cache and the kernel do it.
	err := errors.Join(os.Symlink(outside, filepath.Join(large.Upper, "link")), os.Chmod(filepath.Join(large.Upper, "m"), 0o500), os.Chmod(filepath.Join(large.Work, "work"), 0))
	if err != nil {
		t.Fatal(err)
	}
	again()
	if names, err := os.ReadDir(large.Upper); err != nil || len(names) != 0 {
		t.Errorf("the large cache has %v, %v", names, err)
	}
	if names, err := os.ReadDir(large.Work); err != nil || len(names) != 0 {
		t.Errorf("its work directory has %v, %v", names, err)
	}
	for _, path := range []string{filepath.Join(small.Upper, "keep"), filepath.Join(outside, "file")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// A program can make directories below the length of a path. Later runs must still get their caches.
func TestPrepareRemovesDeepCaches(t *testing.T) {
	caches := []Cache{{Path: "/p", Upper: filepath.Join(tempDir(t), "go-mod")}}
	s, err := Prepare(t.Context(), caches)
	if err != nil {
		t.Fatal(err)
	}
	upper := s.Caches[0].Upper
	fd, err := unix.Open(upper, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 200)
	for range 2 * unix.PathMax / len(name) {
		if err := unix.Mkdirat(fd, name, 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if s, err = Prepare(t.Context(), caches); err != nil {
		t.Fatalf("%.200v", err)
	}
	if names, err := os.ReadDir(upper); err != nil || len(names) != 0 {
		t.Errorf("the cache has %d names, %v", len(names), err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestPrepareRefusesLinks(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "cache/npm/0/work/", "victim/", "cache/npm/0/upper -> ../../../victim")
	_, err := Prepare(t.Context(), []Cache{{Path: "/p", Upper: filepath.Join(dir, "cache/npm")}})
	if err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v", err)
	}
	build(t, dir, "b/slot-0.lock -> ../victim/x")
	if _, err := Prepare(t.Context(), []Cache{{Path: "/p", Upper: filepath.Join(dir, "b/npm")}}); err == nil {
		t.Error("a link was taken for a lock")
	}
}
