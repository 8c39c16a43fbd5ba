package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// limitRows go to the limits of the container, and not far beyond.
func limitRows(c Config) []Row {
	// The directories of a sandbox are parts of the container's.
	fill := func(id, what string, dir func() string, size int64) Row {
		return Row{ID: id, Promise: "K6", What: what, Want: []string{Held}, alone: true, run: func(context.Context, *Probe) Result { return fillUp(dir(), size) }}
	}
	home := func() string { return cmp.Or(os.Getenv("HOME"), c.home()) }
	return []Row{
		fill("tmp-size", "more than fits into /tmp", os.TempDir, c.Limits.Tmp),
		fill("home-size", "more than fits into the home directory", home, c.Limits.Cache),
		{ID: "memory", Promise: "K3", What: "the limit of memory, as the kernel has it", Want: []string{Held, Absent}, run: func(context.Context, *Probe) Result {
			return kernelLimit(c.Limits.Memory, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max")
		}},
		{ID: "pids", Promise: "K3", What: "the limit of processes, as the kernel has it", Want: []string{Held, Absent}, run: func(context.Context, *Probe) Result {
			return kernelLimit(int64(c.Limits.PIDs), "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max")
		}},
		{ID: "core", Promise: "K2", What: "core dumps", Want: []string{Held}, run: func(context.Context, *Probe) Result {
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max != 0 {
				return Result{Outcome: Found, Detail: fmt.Sprintf("%d: %v", limit.Max, err)}
			}
			return Result{Outcome: Held}
		}},
		{ID: "forks", Promise: "K3", What: "more processes than the limit", Want: []string{Held}, alone: true, run: func(ctx context.Context, _ *Probe) Result { return forks(ctx, c.Limits.PIDs) }},
	}
}

// fillUp writes until the disk is full, at most a little more than the limit.
func fillUp(dir string, limit int64) Result {
	f, err := os.CreateTemp(dir, "probe-fill-")
	if err != nil {
		return Result{Outcome: Broken, Detail: err.Error()}
	}
	defer os.Remove(f.Name())
	defer f.Close()
	chunk := make([]byte, 1<<20)
	var written int64
	for written <= limit+4<<20 {
		n, err := f.Write(chunk)
		written += int64(n)
		if errors.Is(err, unix.ENOSPC) {
			return Result{Outcome: Held, Detail: fmt.Sprintf("full after %d bytes", written)}
		}
		if err != nil {
			return Result{Outcome: Broken, Detail: err.Error()}
		}
	}
	return Result{Outcome: Found, Detail: fmt.Sprintf("%d bytes were written to %s", written, dir)}
}

func kernelLimit(want int64, paths ...string) Result {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if text := strings.TrimSpace(string(data)); text != strconv.FormatInt(want, 10) {
			return Result{Outcome: Found, Detail: path + " says " + text}
		}
		return Result{Outcome: Held}
	}
	return Result{Outcome: Absent, Detail: "the kernel's files are not shown"}
}

// lingerTime is how long a process of the fork bomb lives if nothing ends it.
const lingerTime = 20 * time.Second

// Linger is what a process of the fork bomb does.
func Linger() { time.Sleep(lingerTime) }

// Multiply starts copies of itself, each of which does the same, until they are ended.
func Multiply(ctx context.Context) {
	for ctx.Err() == nil {
		if exec.CommandContext(ctx, "/proc/self/exe", "multiply").Start() != nil {
			runtime.Gosched() // the limit is reached now, but processes end
		}
	}
}

// forks starts processes until no more can be started, at most a few more than the limit.
func forks(ctx context.Context, limit int) Result {
	self, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		return Result{Outcome: Broken, Detail: err.Error()}
	}
	var started []*exec.Cmd
	defer func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
		}
		for _, cmd := range started {
			_ = cmd.Wait()
		}
	}()
	for range limit + 20 {
		cmd := exec.CommandContext(ctx, self, "linger")
		cmd.Env = []string{"GOMAXPROCS=1"}
		if err := cmd.Start(); err != nil {
			return Result{Outcome: Held, Detail: fmt.Sprintf("after %d: %v", len(started), err)}
		}
		started = append(started, cmd)
	}
	return Result{Outcome: Found, Detail: fmt.Sprintf("%d processes were started", len(started))}
}
