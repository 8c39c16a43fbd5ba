//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// diskLimits measures how much a program that writes as fast as it can has on the disk when it is
// stopped, to its limit: in files with names, and in files without. It also counts the system calls
// of a watch while its program does nothing.
func diskLimits(ctx context.Context, dir string) ([]figure, error) {
	if landlock.Available() != nil {
		return nil, nil // there are no sandboxes here
	}
	const limit, chunk = 2 << 30, 4 << 20
	say := fmt.Sprintf("head -c %d /dev/zero >&3 && i=$((i+1)) && echo $i", chunk)
	var all []figure
	for _, w := range []struct{ name, script string }{
		{"a file", "i=0; exec 3>big; while :; do " + say + "; done"},
		{"small files", fmt.Sprintf("i=0; while :; do head -c %d /dev/zero >f$i && i=$((i+1)) && echo $i; done", chunk)},
		{"a file without a name", "i=0; exec 3>gone; rm gone; while :; do " + say + "; done"},
	} {
		worst := 0.0
		for range 3 {
			ratio, err := stoppedAt(ctx, filepath.Join(dir, "limits"), w.script, limit, chunk)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			worst = max(worst, ratio)
		}
		all = append(all, figure{"limits: " + w.name + " at the stop, to diskGrowth (2 GiB, worst of 3)", worst, 1.5, "%.2f"})
	}
	calls, err := idleWatch(ctx, filepath.Join(dir, "limits"))
	return append(all, figure{"limits: system calls a second of an idle watch", calls, 10, "%.1f"}), err
}

// confined is a shell with a sandbox, in a directory of its own.
func confined(dir, script string) (sandbox.Command, error) {
	err := os.MkdirAll(dir, 0o700)
	return sandbox.Command{
		Program: "/bin/sh", Args: []string{"-c", script}, Dir: dir,
		Policy: &policy.Policy{
			Level: expert.SandboxLandlock, Workspace: policy.Workspace{Path: dir},
			Read: landlock.SystemPaths(), Write: landlock.WritableDevices(),
		},
	}, err
}

// stoppedAt returns what a program has written when it was stopped, to the limit. The program says
// after each chunk how many it has written.
func stoppedAt(ctx context.Context, dir, script string, limit, chunk int64) (float64, error) {
	defer os.RemoveAll(dir)
	c, err := confined(dir, script)
	if err != nil {
		return 0, err
	}
	commands := sandbox.NewSupervisor()
	defer commands.Close()
	commands.LimitDisk(disk.Limits{Bytes: limit})
	out, err := commands.Run(ctx, c)
	if err != nil || out.Exceeded == "" {
		return 0, fmt.Errorf("it was not stopped: %+v: %w", out, err)
	}
	lines := strings.Fields(out.Stdout.String())
	if len(lines) == 0 {
		return 0, fmt.Errorf("it wrote nothing: %s", out.Stderr.String())
	}
	n, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
	return float64((n+1)*chunk) / float64(limit), err
}

// idleWatch counts the calls of a watch for four seconds in which its program does nothing.
func idleWatch(ctx context.Context, dir string) (float64, error) {
	defer os.RemoveAll(dir)
	c, err := confined(dir, "read wait")
	if err != nil {
		return 0, err
	}
	commands := sandbox.NewSupervisor()
	defer commands.Close()
	commands.LimitDisk(disk.Limits{Bytes: 4 << 30, Files: disk.DefaultFiles})
	r, err := commands.Start(ctx, sandbox.Server(c))
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Stop(time.Second) }()
	before, began := commands.DiskWatch().Syscalls(), time.Now()
	time.Sleep(4 * time.Second)
	return float64(commands.DiskWatch().Syscalls()-before) / time.Since(began).Seconds(), nil
}
