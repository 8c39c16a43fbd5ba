//go:build unix

package snapshot_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// A fixture is a workspace with a store beside it.
type fixture struct {
	t     *testing.T
	dir   string
	store *snapshot.Store
	taker *snapshot.Taker
}

func newFixture(t *testing.T, o snapshot.Options) *fixture {
	f := &fixture{t: t, dir: t.TempDir()}
	f.reopen(t.TempDir(), o)
	return f
}

func (f *fixture) reopen(store string, o snapshot.Options) {
	var err error
	if f.store, err = snapshot.Open(f.t.Context(), store); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { f.store.Close() })
	f.taker = f.store.Taker(f.dir, o)
}

func (f *fixture) take() snapshot.Snapshot {
	f.t.Helper()
	s, err := f.taker.Take(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) write(name, content string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// list returns each path of a tree with what is stored about it.
func (f *fixture) list(id snapshot.ID) map[string]string {
	f.t.Helper()
	all := map[string]string{}
	f.add(all, id, "")
	return all
}

func (f *fixture) add(all map[string]string, id snapshot.ID, dir string) {
	f.t.Helper()
	entries, err := f.store.Tree(id)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		path := dir + e.Name
		switch {
		case e.Kind == snapshot.Other:
			all[path] = "other"
		case !e.Captured():
			all[path] = "not captured"
		case e.Kind == snapshot.Directory:
			all[path] = fmt.Sprintf("dir %o", e.Mode)
			f.add(all, e.ID, path+"/")
		case e.Kind == snapshot.Link:
			target, err := f.store.Target(e)
			if err != nil {
				f.t.Fatal(err)
			}
			all[path] = "link " + target
		default:
			var content []byte
			if err := f.store.Content(e, func(b []byte) error { content = append(content, b...); return nil }); err != nil {
				f.t.Fatal(err)
			}
			all[path] = fmt.Sprintf("file %o %s", e.Mode, content)
		}
	}
}

func TestSnapshotHasEverything(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	f.write("a.txt", "one")
	f.write("src/b.go", strings.Repeat("package b\n", 100))
	f.write("na\nme\xff", "odd")
	f.write("run.sh", "#!/bin/sh\n")
	for _, err := range []error{
		os.Chmod(f.path("run.sh"), 0o4751), // the first digit is not captured
		os.Mkdir(f.path("empty"), 0o700),
		os.Symlink("/etc/passwd", f.path("link")),
		os.Symlink("nowhere", f.path("src/dangling")),
		syscall.Mkfifo(f.path("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"a.txt": "file 644 one", "na\nme\xff": "file 644 odd", "run.sh": "file 751 #!/bin/sh\n", "empty": "dir 700", "link": "link /etc/passwd",
		"pipe": "other", "src": "dir 755", "src/b.go": "file 644 " + strings.Repeat("package b\n", 100), "src/dangling": "link nowhere",
	}
	if diff := cmp.Diff(want, f.list(f.take().Tree)); diff != "" {
		t.Error(diff)
	}
}

// What was seen last is used only for what it still is: a name can become a file, a link or a directory.
func TestNamesChangeTheirKind(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	turns := []func(name string) error{
		func(name string) error { return os.WriteFile(name, nil, 0o755) },
		func(name string) error { return os.Mkdir(name, 0o755) },
		func(name string) error { return os.Symlink("nowhere", name) },
	}
	for i, from := range turns {
		for j, to := range turns {
			if i == j {
				continue
			}
			for _, do := range []func(string) error{from, to} {
				if err := os.RemoveAll(f.path("x")); err != nil {
					t.Fatal(err)
				}
				if err := do(f.path("x")); err != nil {
					t.Fatal(err)
				}
				fresh := &fixture{t: t, dir: f.dir}
				fresh.reopen(t.TempDir(), snapshot.Defaults())
				got, want := f.take().Tree, fresh.take().Tree
				if d := cmp.Diff(fresh.list(want), f.list(got)); d != "" || got != want {
					t.Errorf("from %d to %d: the tree is %s, want %s: %s", i, j, got, want, d)
				}
			}
		}
	}
}

func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	for i := range 50 {
		f.write(fmt.Sprintf("d%d/f%d", i%5, i), fmt.Sprint("content ", i))
	}
	first := f.take()
	if first.Read != 50 || first.Stored == 0 {
		t.Fatalf("the first snapshot read %d files and stored %d bytes", first.Read, first.Stored)
	}
	// The files are too young to be trusted, so they are read again; nothing is stored.
	again := f.take()
	if again.Tree != first.Tree || again.Stored != 0 || again.Read != 50 {
		t.Errorf("the same files: %+v, first %+v", again, first)
	}
}

// With a clock that is ahead, changes are old at once.
func TestSettledFilesAreNotReadAgain(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	store := t.TempDir()
	for i := range 50 {
		f.write(fmt.Sprintf("d%d/f%d", i%5, i), fmt.Sprint("content ", i))
	}
	ahead := snapshot.Defaults()
	snapshot.SetClock(&ahead, func() time.Time { return time.Now().Add(time.Minute) })
	f.reopen(store, ahead)
	first := f.take()
	if err := f.taker.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"in the same process", "with the index of another process"} {
		if s := f.take(); s.Read != 0 || s.Stored != 0 || s.Tree != first.Tree {
			t.Errorf("%s: %+v", name, s)
		}
		f.reopen(store, ahead)
	}
	f.write("d1/f1", "changed!!")
	f.write("new", "n")
	if err := os.Remove(f.path("d2/f2")); err != nil {
		t.Fatal(err)
	}
	// The size and the time of change are the same, which the kernel's stamp shows to be wrong.
	old := time.Now().Add(-time.Hour)
	f.write("d3/f3", "CONTENT 3")
	if err := os.Chtimes(f.path("d3/f3"), old, old); err != nil {
		t.Fatal(err)
	}
	s := f.take()
	if s.Read != 3 {
		t.Errorf("read %d files, want the 3 that changed", s.Read)
	}
	all := f.list(s.Tree)
	for name, want := range map[string]string{"d1/f1": "file 644 changed!!", "new": "file 644 n", "d2/f2": "", "d3/f3": "file 644 CONTENT 3", "d0/f0": "file 644 content 0"} {
		if all[name] != want {
			t.Errorf("%s: got %q, want %q", name, all[name], want)
		}
	}
}

func TestWhatIsNotCaptured(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	for _, name := range []string{
		"node_modules/kept", "web/package.json", "web/node_modules/x/index.js", "Cargo.toml", "target/debug/a", "other/target/a",
		"py/__pycache__/a.pyc", "venv/pyvenv.cfg", "venv/bin/python", "cache/CACHEDIR.TAG", "cache/deep/x",
		".git/HEAD", ".git/index", ".git/index.lock", ".git/objects/ab/cd", ".git/logs/HEAD", ".git/lfs/x", ".git/refs/heads/logs/x",
		".git/modules/lib/sub/HEAD", ".git/modules/lib/sub/objects/ab", ".git/modules/lib/sub/config", ".git/hooks/pre-commit",
		".env", ".env.example", "sub/.env.local", "a.lock",
	} {
		f.write(name, "x")
	}
	all := f.list(f.take().Tree)
	var captured, not []string
	for path, is := range all {
		switch {
		case strings.HasPrefix(is, "file"):
			captured = append(captured, path)
		case is == "not captured":
			not = append(not, path)
		}
	}
	slices.Sort(captured)
	slices.Sort(not)
	wantCaptured := []string{
		".env.example", ".git/HEAD", ".git/hooks/pre-commit", ".git/index", ".git/modules/lib/sub/HEAD", ".git/modules/lib/sub/config",
		".git/refs/heads/logs/x", "Cargo.toml", "a.lock", "node_modules/kept", "other/target/a", "web/package.json",
	}
	wantNot := []string{
		".env", ".git/index.lock", ".git/lfs", ".git/logs", ".git/modules/lib/sub/objects", ".git/objects", "cache", "py/__pycache__",
		"sub/.env.local", "target", "venv", "web/node_modules",
	}
	if diff := cmp.Diff(wantCaptured, captured); diff != "" {
		t.Error("captured:", diff)
	}
	if diff := cmp.Diff(wantNot, not); diff != "" {
		t.Error("not captured:", diff)
	}
}

// A job cannot keep its later changes from being undone by marking a directory as a cache.
func TestMarksThatAppearExcludeNothing(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	f.write("src/a", "1")
	f.write("target/a", "1")
	f.take()
	f.write("src/CACHEDIR.TAG", "")
	f.write("Cargo.toml", "")
	f.write("src/a", "2")
	f.write("target/a", "2")
	all := f.list(f.take().Tree)
	if all["src/a"] != "file 644 2" || all["target/a"] != "file 644 2" {
		t.Errorf("the changes are not captured: %v", all)
	}
}

func TestLimits(t *testing.T) {
	t.Run("large file", func(t *testing.T) {
		o := snapshot.Defaults()
		o.MaxFileBytes = 10
		f := newFixture(t, o)
		f.write("small", "0123456789")
		f.write("large", "0123456789a")
		s := f.take()
		if want := []snapshot.Skipped{{"large", "larger than a snapshot takes"}}; !slices.Equal(s.Skipped, want) || f.list(s.Tree)["large"] != "not captured" {
			t.Errorf("skipped %v", s.Skipped)
		}
	})
	t.Run("smallest first", func(t *testing.T) {
		o := snapshot.Defaults()
		o.MaxBytes = 12
		f := newFixture(t, o)
		f.write("a", "0123456789")
		f.write("b", "01234")
		f.write("c", "012345")
		s := f.take()
		all := f.list(s.Tree)
		if all["a"] != "not captured" || all["b"] == "not captured" || all["c"] == "not captured" || s.SkippedAll != 1 {
			t.Errorf("captured %v, skipped %v", all, s.Skipped)
		}
	})
	t.Run("growth", func(t *testing.T) {
		o := snapshot.Defaults()
		o.MaxGrowth = 200_000
		f, store := &fixture{t: t, dir: t.TempDir()}, t.TempDir()
		f.reopen(store, o)
		random := func(name string, size int) (content string) {
			for len(content) < size {
				content += rand.Text()
			}
			f.write(name, content)
			return content
		}
		first := random("a", 100_000)
		if s := f.take(); s.SkippedAll != 0 {
			t.Fatalf("skipped %v", s.Skipped)
		}
		random("b", 150_000)
		s := f.take()
		want := []snapshot.Skipped{{"b", "the stored files would take too much space"}}
		if all := f.list(s.Tree); !slices.Equal(s.Skipped, want) || all["a"] == "not captured" || all["b"] != "not captured" {
			t.Errorf("skipped %v", s.Skipped)
		}
		// What is stored already needs no space, and neither do many rewrites.
		f.write("c", first)
		for range 10 {
			random("b", 150_000)
			if s = f.take(); f.list(s.Tree)["c"] == "not captured" || !slices.Equal(s.Skipped, want) {
				t.Errorf("skipped %v", s.Skipped)
			}
		}
		if size, err := snapshot.Size(store); err != nil || size > o.MaxGrowth {
			t.Errorf("the store takes %d bytes, %v", size, err)
		}
	})
	t.Run("entries", func(t *testing.T) {
		o := snapshot.Defaults()
		o.MaxEntries = 3
		f := newFixture(t, o)
		for _, name := range []string{"a", "b", "c", "d", "e/f"} {
			f.write(name, "x")
		}
		if s := f.take(); s.Incomplete != "entries" || f.list(s.Tree)["c"] != "file 644 x" || f.list(s.Tree)["d"] != "not captured" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("depth", func(t *testing.T) {
		o := snapshot.Defaults()
		o.MaxDepth = 2
		f := newFixture(t, o)
		f.write("1/2/file", "x")
		f.write("1/2/3/file", "x")
		if s := f.take(); s.Incomplete != "depth" || f.list(s.Tree)["1/2/file"] != "file 644 x" || f.list(s.Tree)["1/2/3"] != "not captured" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("time", func(t *testing.T) {
		o := snapshot.Defaults()
		o.MaxTime = -time.Second
		f := newFixture(t, o)
		f.write("a", "x")
		if s := f.take(); s.Incomplete != "time" || s.SkippedAll != 1 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		f := newFixture(t, snapshot.Defaults())
		f.write("a", "x")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.taker.Take(ctx); err == nil {
			t.Error("no error")
		}
	})
}

func TestUnreadableFilesAreNamed(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything; the tests also run as an ordinary user")
	}
	f := newFixture(t, snapshot.Defaults())
	f.write("secret", "x")
	f.write("dir/x", "x")
	for _, name := range []string{"secret", "dir"} {
		if err := os.Chmod(f.path(name), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(f.path("dir"), 0o755)
	s := f.take()
	if want := []snapshot.Skipped{{"dir", "not readable"}, {"secret", "not readable"}}; !slices.Equal(s.Skipped, want) {
		t.Errorf("skipped %v, want %v", s.Skipped, want)
	}
}

func TestLargeAndSparseFiles(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	content := make([]byte, 5<<20+77)
	for i := range content[3<<20:] {
		content[3<<20+i] = byte(i * i >> 7)
	}
	f.write("big", string(content))
	file, err := os.Create(f.path("sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = file.WriteAt([]byte("end"), 20<<20); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(f.path("sparse"), 30<<20); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(f.path("huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	huge.Close()
	s := f.take()
	all := f.list(s.Tree)
	if all["big"] != "file 644 "+string(content) {
		t.Error("the large file differs")
	}
	want, err := os.ReadFile(f.path("sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if all["sparse"] != "file 644 "+string(want) {
		t.Error("the sparse file differs")
	}
	if all["huge"] != "not captured" {
		t.Error("the file of 1 TiB was captured")
	}
	if s.Stored > 4<<20 {
		t.Errorf("stored %d bytes: zeros are not stored", s.Stored)
	}
}

// Git is the oracle: it finds the same contents in a repository without attributes.
func TestGitFindsTheSameContents(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	for i := range 200 {
		f.write(fmt.Sprintf("d%d/e%d/f%d", i%3, i%7, i), strings.Repeat(fmt.Sprint(i), i))
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", f.dir}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "-A")
	want := map[string]string{}
	for line := range strings.Lines(git("ls-files")) {
		name := strings.TrimSpace(line)
		want[name] = "file 644 " + git("show", ":"+name)
	}
	got := f.list(f.take().Tree)
	for path, is := range got {
		if strings.HasPrefix(path, ".git") || !strings.HasPrefix(is, "file") {
			delete(got, path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
