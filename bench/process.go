//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// build compiles a package the way releases are, and returns the binary. It is a copy, as one
// that was installed: the linker writes its file through a memory map, and the system keeps such
// a file in small pages, which cost each start a tenth more.
func build(ctx context.Context, dir, pkg string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg))
	linked := path + ".linked"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", linked, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	data, err := os.ReadFile(linked)
	if err == nil {
		err = os.WriteFile(path, data, 0o755)
	}
	return path, errors.Join(err, os.Remove(linked))
}

// A cost is what a process used.
type cost struct {
	cpu     time.Duration // user and system
	peak    float64       // resident memory in MB
	elapsed time.Duration // from start to end
}

// measured runs a command n times and returns the smallest cost of each kind: whatever
// else the machine does can only add to it. A code other than the wanted one is an error.
func (p programs) measured(ctx context.Context, n, code int, command func() *exec.Cmd) (cost, error) {
	least := cost{cpu: time.Hour, peak: 1 << 20, elapsed: time.Hour}
	for range n {
		inner := command()
		if inner.Err != nil {
			return cost{}, inner.Err
		}
		cmd := exec.CommandContext(ctx, p.meter, inner.Args...)
		cmd.Dir, cmd.Env = inner.Dir, inner.Env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return cost{}, fmt.Errorf("%s: %w\n%s", inner, err, stderr.Bytes())
		}
		var cpu, kilobytes, elapsed int64
		var got int
		if _, err := fmt.Sscan(string(out), &cpu, &kilobytes, &got, &elapsed); err != nil || got != code {
			return cost{}, fmt.Errorf("%s ended with %d, want %d\n%s%s", inner, got, code, out, stderr.Bytes())
		}
		least.cpu = min(least.cpu, time.Duration(cpu))
		least.peak = min(least.peak, float64(kilobytes)/1024)
		least.elapsed = min(least.elapsed, time.Duration(elapsed))
	}
	return least, nil
}

// A trial is a command that ends with a code.
type trial struct {
	code    int
	command func() *exec.Cmd
}

// compared runs commands by turns, n rounds of them, and returns what each used in each
// round. So what slows the machine down for a while does not hit one of them alone.
func (p programs) compared(ctx context.Context, n int, trials ...trial) (rounds [][]cost, err error) {
	for range n {
		round := make([]cost, len(trials))
		for i, t := range trials {
			if round[i], err = p.measured(ctx, 1, t.code, t.command); err != nil {
				return nil, err
			}
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

// least returns the smallest cost of each command.
func least(rounds [][]cost) []cost {
	all := slices.Clone(rounds[0])
	for _, round := range rounds {
		for i, c := range round {
			all[i] = cost{min(c.cpu, all[i].cpu), min(c.peak, all[i].peak), min(c.elapsed, all[i].elapsed)}
		}
	}
	return all
}

// times returns how often the CPU of b goes into that of a.
func (a cost) times(b cost) float64 { return float64(a.cpu) / float64(b.cpu) }

// longer returns how often the time of b goes into that of a.
func (a cost) longer(b cost) float64 { return float64(a.elapsed) / float64(b.elapsed) }
