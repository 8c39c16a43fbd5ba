//go:build unix

package evil

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	// lifetime ends what no test ended. It is long enough for a test to see it alive and
	// to see it die of something else.
	lifetime = 60 * time.Second
	// maxBomb bounds a fork bomb.
	maxBomb = 500
)

// Daemonise starts, with the program at self, a process that has left its session, its
// group and its parent, as a daemon does, and returns when that is alive. It holds a
// lock on file until it dies; see [Alive].
func Daemonise(ctx context.Context, self, file string) error {
	if err := start(self, "fork-again", file); err != nil {
		return err
	}
	return awaitLife(ctx, file)
}

// awaitLife returns when a process has the lock on file.
func awaitLife(ctx context.Context, file string) error {
	for {
		alive, err := Alive(file)
		if err != nil || alive {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// forkAgain is the process in the middle, whose end makes its child an orphan.
func forkAgain(self, file string) error { return start(self, "heartbeat", file) }

// start starts one of our commands in a session of its own and leaves it alone.
func start(self string, args ...string) error {
	if self == "" {
		return errors.New("to start a process, the path of evilmcp is needed")
	}
	cmd := exec.Command(self, args...) //nolint:noctx // it is to outlive everybody
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// Heartbeat lives for a minute with a lock on file, writes down its process id and a
// number that grows, and ends early when the file is removed.
func Heartbeat(ctx context.Context, file string) error {
	f, err := hold(file, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer f.Close()
	beat := 0
	return live(ctx, file, func() error {
		beat++
		_, err := f.WriteAt(fmt.Appendf(nil, "%d %d\n", os.Getpid(), beat), 0)
		return err
	})
}

// live lasts until the file is gone or the context is done.
func live(ctx context.Context, file string, beat func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lifetime)
	defer cancel()
	for {
		if err := beat(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
}

// ForkBomb starts n processes with the program at self, as a tree, and returns when the
// first of them is alive. Each appends its id to file and shares a lock on it until it dies; see
// [Alive].
func ForkBomb(ctx context.Context, self, file string, n int) error {
	if n < 1 {
		return errors.New("a fork bomb has at least one process")
	}
	if n > maxBomb {
		return fmt.Errorf("%d processes are too many, even for a test; at most %d", n, maxBomb)
	}
	if file == "" {
		return errors.New("a fork bomb needs a file, by which its processes can be found")
	}
	for _, part := range []int{n / 2, n - n/2} {
		if part == 0 {
			continue
		}
		if err := start(self, "splinter", file, strconv.Itoa(part)); err != nil {
			return err
		}
	}
	return awaitLife(ctx, file)
}

// splinter is one process of a fork bomb of n. It starts the others below it.
func splinter(ctx context.Context, self, file string, n int) error {
	f, err := hold(file, syscall.LOCK_SH)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, os.Getpid()); err != nil {
		return err
	}
	if n > 1 {
		if err := ForkBomb(ctx, self, file, n-1); err != nil {
			return err
		}
	}
	return live(ctx, file, func() error { return nil })
}

// hold opens a file and locks it. The kernel gives the lock back when the process is
// gone, however it went.
func hold(file string, how int) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if how == syscall.LOCK_SH {
		flags |= os.O_APPEND
	}
	f, err := os.OpenFile(file, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Alive reports whether a process of [Daemonise] or [ForkBomb] still has a lock on file.
// It looks at the lock and not at the clock: no process, however stopped or slow, is
// taken for a dead one.
func Alive(file string) (bool, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// dieBySignal kills this process without a warning.
func dieBySignal() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }
