//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
)

// counts counts the processes and the mounts that a command adds at level full, and compares the
// memory of the process that holds its sandbox with that of a supervisor without one.
func (x *sandboxProject) counts(ctx context.Context) ([]figure, error) {
	var extra, memory []float64
	for range 3 {
		inside, err := x.whileRunning(ctx, full)
		if err != nil {
			return nil, err
		}
		outside, err := x.whileRunning(ctx, unsandboxed)
		if err != nil {
			return nil, err
		}
		extra = append(extra, float64(inside.processes-outside.processes))
		memory = append(memory, inside.peak/outside.peak)
	}
	slices.Sort(extra)
	slices.Sort(memory)
	mounts, err := x.mounts(ctx)
	if err != nil {
		return nil, err
	}
	// An env file in a directory of its own takes another mount, so that the directory stays.
	path := filepath.Join(x.dir, "other", ".env")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
		return nil, err
	}
	more, err := x.mounts(ctx)
	return []figure{
		{"sandbox: processes that a command adds", extra[len(extra)/2], 1, "%.0f"},
		{"sandbox: mounts that a command adds in a repository with 10 env files", float64(mounts), 24, "%.0f"},
		{"sandbox: mounts for another directory with an env file", float64(more - mounts), 0, "%.0f"},
		{"sandbox: peak memory of the holder, to a supervisor at level off", memory[len(memory)/2], 1.5, "%.2f"},
	}, err
}

// mounts counts those that exist for the sake of a command: on protected files of the workspace,
// and in /proc, where the holder has one itself.
func (x *sandboxProject) mounts(ctx context.Context) (n int, err error) {
	const copied = "mounts.txt"
	if _, err := x.trial(ctx, full, "mounts", call{".", []string{"cp", "/proc/self/mountinfo", copied}}); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(x.dir, copied))
	if err == nil {
		err = os.Remove(filepath.Join(x.dir, copied)) // a copy has the mode of the original, which cannot be written
	}
	if err != nil {
		return 0, err
	}
	workspace, err := filepath.EvalSymlinks(x.dir)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return 0, fmt.Errorf("mountinfo has the line %q", line)
		}
		if at := fields[4] + "/"; strings.HasPrefix(at, "/proc/") || strings.HasPrefix(at, workspace+"/") && fields[4] != workspace {
			n++
		}
	}
	return n - 1, nil
}

// processes are those of a job while a command runs.
type jobProcesses struct {
	processes int
	peak      float64 // memory of the supervisor in KB
}

// whileRunning looks at a job whose last command waits.
func (x *sandboxProject) whileRunning(ctx context.Context, level expert.SandboxLevel) (found jobProcesses, err error) {
	const waiting = "sleep"
	start, err := x.run(ctx, level, "waiting", append(times(20, "true"), call{".", []string{waiting, "600"}})...)
	if err != nil {
		return found, err
	}
	cmd := start()
	if err := cmd.Start(); err != nil {
		return found, err
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Kill()) // which ends all that it started
		var exit *exec.ExitError
		if failed := cmd.Wait(); !errors.As(failed, &exit) {
			err = errors.Join(err, failed)
		}
	}()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		below, err := descendants(cmd.Process.Pid)
		if err != nil {
			return found, err
		}
		if !slices.ContainsFunc(below, func(p proc) bool { return p.name == waiting }) {
			continue
		}
		supervisor := slices.IndexFunc(below, func(p proc) bool { return p.parent == cmd.Process.Pid })
		found.processes = len(below)
		found.peak, err = peakMemory(below[supervisor].pid)
		return found, err
	}
	return found, fmt.Errorf("%s: its command did not start", cmd)
}

// A proc is a process as the kernel shows it.
type proc struct {
	pid, parent int
	name        string
}

// descendants returns the processes below another one.
func descendants(of int) (below []proc, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []proc
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		before, after, ok := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after)
		if err != nil || !ok || len(fields) < 2 {
			continue // it has ended
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, err
		}
		all = append(all, proc{pid, parent, before[strings.Index(before, "(")+1:]})
	}
	tree := map[int]bool{of: true}
	for more := true; more; {
		more = false
		for _, p := range all {
			if tree[p.parent] && !tree[p.pid] {
				tree[p.pid], more = true, true
				below = append(below, p)
			}
		}
	}
	return below, nil
}

// peakMemory is the most memory that a process has had, in KB.
func peakMemory(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		}
	}
	return 0, fmt.Errorf("the kernel does not say how much memory process %d has had", pid)
}
