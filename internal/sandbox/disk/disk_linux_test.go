package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func make1(t *testing.T, path string, size int) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, make([]byte, size), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// never says that a measurement has time.
func never() bool { return false }

// watch is one of a directory, which has begun.
func watch(t *testing.T, roots ...string) *Watch {
	t.Helper()
	w := &Watch{Limits: Limits{Bytes: 1 << 40, Files: 1 << 30}, Processes: func() []int { return nil }, Exceeded: func(e Excess) { t.Error(e) }}
	// The clock stands still for some milliseconds, and the time of a file can be ahead of it by as
	// much: since Linux 6.13 the kernel takes a finer clock for files that were looked at.
	for before := fileClock(); !fileClock().After(before.Add(20 * time.Millisecond)); {
		runtime.Gosched()
	}
	t.Cleanup(w.Begin(roots))
	return w
}

// Files count that were made or changed since the begin: each once, by the blocks they take.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	make1(t, in("old"), 1<<20)
	make1(t, in("touched"), 3<<20)
	w := watch(t, dir, in("sub")) // a root in another one
	if f := w.measure(never); f != (finding{complete: true}) {
		t.Errorf("at the begin %+v", f)
	}
	make1(t, in("sub/deep/new"), 2<<20)
	if err := errors.Join(os.Link(in("sub/deep/new"), in("linked")), os.Symlink("/etc", in("link")), os.Chmod(in("touched"), 0o600),
		os.WriteFile(in("sparse"), nil, 0o644), os.Truncate(in("sparse"), 1<<40)); err != nil {
		t.Fatal(err)
	}
	f := w.measure(never)
	if f.fresh.bytes < 2<<20 || f.fresh.bytes > 2<<20+64<<10 || f.changed.bytes < 3<<20 || f.changed.bytes > 3<<20+64<<10 || !f.complete {
		t.Errorf("%+v", f)
	}
	if f.fresh.files != 5 { // two directories, the file, the link, the sparse file
		t.Errorf("%d new files", f.fresh.files)
	}
}

// What cannot be read makes a measurement incomplete: a closed directory, and a tree that is too
// deep.
func TestMeasureIncomplete(t *testing.T) {
	for name, make := range map[string]func(dir string) error{
		"deep": func(dir string) error {
			d, err := os.OpenRoot(dir)
			for range maxDepth + 2 {
				if err != nil {
					return err
				}
				err = d.Mkdir("d", 0o755)
				sub, failed := d.OpenRoot("d")
				err = errors.Join(err, failed, d.Close())
				d = sub
			}
			return errors.Join(err, d.WriteFile("f", nil, 0o644), d.Close())
		},
		"closed": func(dir string) error { return os.Mkdir(filepath.Join(dir, "closed"), 0o300) },
		"listed": func(dir string) error {
			at := filepath.Join(dir, "listed")
			return errors.Join(os.Mkdir(at, 0o700), os.WriteFile(filepath.Join(at, "f"), nil, 0o644), os.Chmod(at, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := watch(t, dir)
			if err := make(dir); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = errors.Join(os.Chmod(dir+"/closed", 0o700), os.Chmod(dir+"/listed", 0o700)) })
			if f := w.measure(never); f.complete != (os.Geteuid() == 0 && name != "deep") {
				t.Errorf("%+v", f)
			}
		})
	}
	w := watch(t, t.TempDir())
	for root := range w.roots {
		for i := range 300 {
			make1(t, filepath.Join(root, fmt.Sprint(i)), 0)
		}
	}
	if f := w.measure(func() bool { return true }); f.complete {
		t.Error("a measurement that was given up is complete")
	}
}

// Files without a name are found in the table of each thread, and in memory that is mapped.
func TestUnlinked(t *testing.T) {
	dir := t.TempDir()
	open := func(size int) *os.File {
		f, err := os.CreateTemp(dir, "")
		if err == nil {
			err = errors.Join(os.Remove(f.Name()), f.Truncate(int64(size)), unix.Fallocate(int(f.Fd()), 0, 0, int64(size)))
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	count := func() (n int, sum int64) {
		for _, f := range Unlinked([]int{os.Getpid()}).Files {
			if !f.InMemory && f.after(time.Now().Add(-time.Hour)) {
				n, sum = n+1, sum+f.Bytes
			}
		}
		return n, sum
	}
	none, before := count()
	first := open(1 << 20)
	defer first.Close()
	if n, sum := count(); n != none+1 || sum < before+1<<20 {
		t.Errorf("one file: %d files, %d bytes", n-none, sum-before)
	}
	var hidden, done sync.WaitGroup
	hidden.Add(1)
	stop := make(chan struct{})
	done.Go(func() {
		runtime.LockOSThread() // and never unlocked
		defer func() { hidden.Done() }()
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			t.Error(err)
			return
		}
		f := open(2 << 20)
		hidden.Done()
		<-stop
		f.Close()
		hidden.Add(1)
	})
	hidden.Wait()
	if n, sum := count(); n != none+2 || sum < before+3<<20 {
		t.Errorf("one of another thread: %d files, %d bytes", n-none, sum-before)
	}
	close(stop)
	done.Wait()
	f := open(4 << 20)
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	n, sum := count()
	if os.Geteuid() == 0 && (n != none+2 || sum < before+5<<20) {
		t.Errorf("one that is mapped: %d files, %d bytes", n-none, sum-before)
	}
	if os.Geteuid() != 0 && Unlinked([]int{os.Getpid()}).Complete {
		t.Error("a mapped file that cannot be measured is not noticed")
	}
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	if open := Unlinked([]int{os.Getpid(), 1 << 22}); !open.Complete { // no process has this number
		t.Error("incomplete without a reason")
	}
}

// Files in memory are no use of a disk.
func TestUnlinkedInMemory(t *testing.T) {
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(fd, 0, 1<<20, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	open := Unlinked([]int{os.Getpid()})
	if f := open.Files[ID{uint64(st.Dev), st.Ino}]; !f.InMemory || f.Bytes != 1<<20 || !open.Complete {
		t.Errorf("%+v, %+v", f, open)
	}
}

func TestParseMapping(t *testing.T) {
	for line, want := range map[string]mapping{
		"7f0-7f1 rw-s 00000000 fe:00 1234                  /ws/a b (deleted)": {"7f0-7f1", "fe:00 1234", ID{unix.Mkdev(0xfe, 0), 1234}},
		"7f0-7f1 rw-s 00000000 fe:00 1234 /ws/a":                              {},
		"7f0-7f1 rw-s 00000000 fe:00 x /ws/a (deleted)":                       {},
		"7f0 (deleted)": {},
		"":              {},
	} {
		if got, ok := parseMapping(line); got != want || ok != (want != mapping{}) {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
}

func FuzzParseMapping(f *testing.F) {
	f.Add("7f0-7f1 rw-s 00000000 fe:00 1234 /ws/a (deleted)")
	f.Fuzz(func(t *testing.T, line string) {
		if m, ok := parseMapping(line); ok && (m.addresses == "" || m.file == "") {
			t.Errorf("%q: %+v", line, m)
		}
	})
}

// A watch tells of an excess once, and then allows a little more, so that programs can delete
// something. What they wrote before is not held against them twice.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	told := make(chan Excess, 10)
	w := &Watch{Limits: Limits{Bytes: 32 << 20, Files: 1000}, Processes: func() []int { return nil }, Exceeded: func(e Excess) { told <- e }}
	end := w.Begin([]string{dir})
	make1(t, filepath.Join(dir, "a"), 40<<20)
	if e := <-told; e.Text != "more than 32 MiB added to the disk" || e.Used < 40<<20 || e.Max != 32<<20 {
		t.Errorf("%+v", e)
	}
	end()
	end() // twice does nothing
	settle(w)
	end = w.Begin([]string{dir})
	make1(t, filepath.Join(dir, "c"), 8<<20)
	<-told
	end()
	w.observing.Lock()
	defer w.observing.Unlock()
	if len(told) > 0 {
		t.Errorf("told again: %+v", <-told)
	}
	if len(w.roots) == 0 || w.Syscalls() == 0 || w.running != 0 {
		t.Errorf("%d roots, %d calls, %d programs", len(w.roots), w.Syscalls(), w.running)
	}
}

// What remains after the disk is nearly full stops programs at once.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	told := make(chan Excess, 10)
	w := &Watch{Limits: Limits{Bytes: 1 << 40}, Processes: func() []int { return nil }, Exceeded: func(e Excess) { told <- e }}
	s, err := w.free(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{volumes: map[uint64]*volume{s.id: {root: dir, last: s, floor: s.left * 2}}}
	o.volumes[s.id].last.free++ // it got worse
	o.look(w)
	if e := <-told; e.Used != s.left*2 || !strings.HasPrefix(e.Text, "less than ") || !strings.HasSuffix(e.Text, " left on the disk") {
		t.Errorf("%+v", e)
	}
}

// settle waits until the last look is over, which decides what is allowed next.
func settle(w *Watch) {
	w.observing.Lock()
	defer w.observing.Unlock()
}
