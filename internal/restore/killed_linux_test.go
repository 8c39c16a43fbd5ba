package restore_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// A restore is killed right before each system call by which it changes a file: in the workspace, in
// the store, in the journal and in its note. The next command finishes it, or takes it back.
func TestKilledAtEveryOperation(t *testing.T) {
	for _, abort := range []bool{false, true} {
		began := 0
		for n, killed := 1, true; killed; n += stride() {
			f, before, after := prepared(t)
			killed = f.killAt("restore", n) == n
			want := after
			switch {
			case f.begun():
				began++
				if !abort {
					want = before
				}
				f.settle(abort)
			case f.ended(): // only the note about it is left
				want = before
			case !killed:
				t.Fatal("nothing was restored")
			}
			f.whole(want, fmt.Sprintf("abort %v, operation %d", abort, n))
		}
		if began < 30/stride() {
			t.Errorf("only %d restores were interrupted", began)
		}
	}
}

// The command that finishes a restore, or takes it back, is killed as well.
func TestKilledAgainAtEveryOperation(t *testing.T) {
	f, _, _ := prepared(t)
	all := f.killAt("restore", math.MaxInt)
	for _, verb := range []string{"enter", "abort"} {
		for _, first := range []int{all * 6 / 10, all * 9 / 10} {
			began := 0
			for n, killed := 1, true; killed; n += stride() {
				f, before, after := prepared(t)
				if f.killAt("restore", first) != first || !f.begun() {
					t.Fatalf("operation %d is not in the middle of a restore", first)
				}
				killed = f.killAt(verb, n) == n
				if f.begun() {
					began++
					f.settle(verb == "abort")
				}
				want := before
				if verb == "abort" {
					want = after
				}
				f.whole(want, fmt.Sprintf("%s, operation %d, then %d", verb, first, n))
			}
			if began < 5/stride() {
				t.Errorf("%s after operation %d: only %d were interrupted", verb, first, began)
			}
		}
	}
}

// A restore is killed while it makes readable what the job has closed. The next one restores it.
func TestKilledWhileFilesAreOpened(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every file; CI runs the tests as another user")
	}
	for n, killed := 1, true; killed; n += stride() {
		f := newFixture(t)
		f.sh("mkdir -p d/e; for f in a b d/a d/e/f; do echo old > $f; done")
		before := f.copy()
		f.run("task", func(w *work) {
			w.call(func() {
				f.sh("for f in a b d/a d/e/f; do echo job > $f; done; mkdir new; echo job > new/x; chmod 000 a d/e/f d/e d new")
			})
		})
		t.Cleanup(func() { f.sh("chmod -R u+rwX .") })
		killed = f.killAt("restore", n) == n
		switch {
		case f.begun():
			f.settle(false)
		case !f.ended():
			_, err := f.undo(rewind.Options{})
			f.check(err)
		}
		f.whole(before, fmt.Sprintf("operation %d", n))
	}
}

// stride is how many operations lie between two that are tried.
func stride() int {
	if testing.Short() {
		return 17
	}
	return 1
}

// whole checks that the workspace equals a copy, that nothing else is there, and that it can be used.
func (f *fixture) whole(want, when string) {
	f.t.Helper()
	f.same(want, when)
	if left, err := filepath.Glob(f.path(".perstack-*")); err != nil || len(left) > 0 {
		f.t.Fatalf("%s: %v is left, %v", when, left, err)
	}
	s := f.open()
	if s.History.OpenRestore() != nil {
		f.t.Errorf("%s: the restore is still open", when)
	}
	f.check(s.Close())
}

// ended reports whether a restore was carried out.
func (f *fixture) ended() (ended bool) {
	for r, err := range f.journals().Read(f.t.Context(), jobID, 0) {
		f.check(err)
		if _, ok := r.Event.Body.(event.FilesRestored); ok {
			ended = true
		}
	}
	return ended
}

// killAt does something in another process, which is killed right before its nth operation on a
// file. It returns how many it has seen: n, unless there are fewer.
func (f *fixture) killAt(verb string, n int) (seen int) {
	f.t.Helper()
	out, err := os.CreateTemp(f.t.TempDir(), "out")
	f.check(err)
	defer out.Close()
	cmd := f.child(verb, 0)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	runtime.LockOSThread() // only the thread that starts a process can trace it
	defer runtime.UnlockOSThread()
	f.check(cmd.Start())
	pid, prepared := cmd.Process.Pid, false
	for {
		var status unix.WaitStatus
		id, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			f.t.Fatal(err)
		case id == pid && (status.Exited() || status.Signaled()):
			if seen < n && status.ExitStatus() != 0 {
				text, _ := os.ReadFile(out.Name())
				f.t.Fatalf("%v: %s", status, text)
			}
			return seen
		case !status.Stopped():
			continue // a thread has ended
		}
		pass := 0
		switch signal := status.StopSignal(); {
		case !prepared:
			prepared = true
			f.check(unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL))
		case signal == unix.SIGTRAP|0x80:
			if seen < n && changesFile(id) {
				if seen++; seen == n {
					f.check(unix.Kill(pid, unix.SIGKILL))
				}
			}
		case signal != unix.SIGTRAP && signal != unix.SIGSTOP: // those are about tracing
			pass = int(signal)
		}
		if err := unix.PtraceSyscall(id, pass); err != nil && !errors.Is(err, unix.ESRCH) {
			f.t.Fatal(err)
		}
	}
}

// A systemCall is what the kernel says about a thread that is stopped at one.
type systemCall struct {
	op      uint8
	_       [3]uint8
	_       uint32
	_, _    uint64
	number  uint64
	args    [6]uint64
	_       uint64
	entered bool
}

// callOf returns the system call that a stopped thread is about to make, or has made.
func callOf(thread int) (c systemCall) {
	const getSyscallInfo, entry = 0x420e, 1
	_, _, err := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(thread), unsafe.Offsetof(c.entered), uintptr(unsafe.Pointer(&c)), 0, 0)
	c.entered = err == 0 && c.op == entry
	return c
}

// changesFile reports whether a stopped thread is about to change a file, or to make it durable.
func changesFile(thread int) bool {
	c := callOf(thread)
	if !c.entered {
		return false
	}
	switch number := uintptr(c.number); {
	case number == unix.SYS_OPENAT:
		return c.args[2]&(unix.O_CREAT|unix.O_TRUNC) != 0
	case slices.Contains([]uintptr{
		unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_SYMLINKAT, unix.SYS_LINKAT, unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT,
	}, number):
		return true
	case slices.Contains([]uintptr{
		unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_COPY_FILE_RANGE, unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
	}, number):
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", thread, int32(c.args[0])))
		return err == nil && strings.HasPrefix(path, "/") // the runtime writes to its own descriptors
	}
	return false
}
