package probes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// The limits that the probe of W8 sets: few enough to be reached quickly, and more than the
// program needs that runs into them.
const (
	fewTasks    = 64
	manyTasks   = 40 // processes, each with several threads
	smallFile   = 1 << 20
	littleRAM   = 128 << 20
	muchRAM     = 384 << 20
	littleSpace = 16 << 20
)

// resources attacks W8.
func (m *Machine) resources(ctx context.Context) audit.Result {
	ws, err := m.dir("limits")
	if err != nil {
		return noStart(err)
	}
	s, why, err := m.sandboxed(ctx, "W8", ws)
	if err != nil {
		return noStart(err)
	}
	if s.level == "" {
		return noSandbox(why)
	}
	for _, a := range []struct {
		attack string
		limits policy.Limits
		disk   disk.Limits
	}{
		{attack: hostile.Tasks + "=" + strconv.Itoa(manyTasks), limits: policy.Limits{Tasks: fewTasks}},
		{attack: hostile.Grow + "=" + filepath.Join(s.ws, "large"), limits: policy.Limits{FileSize: smallFile}},
		{attack: hostile.Use + "=" + strconv.Itoa(muchRAM), limits: policy.Limits{Memory: littleRAM}},
		{attack: hostile.Fill + "=" + filepath.Join(s.ws, "full"), disk: disk.Limits{Bytes: littleSpace}},
	} {
		if free, err := m.run(ctx, m.inside(s, hostile.NoInput, a.attack)); err != nil || len(free.Did) != 1 {
			return noControl(fmt.Sprintf("without a limit, it fails, too: %q %v", free.Failed, err))
		}
		s := s
		s.policy.Limits = a.limits
		succeeded, err := m.exceeds(ctx, m.inside(s, hostile.NoInput, hostile.Hold, a.attack), a.disk)
		if err != nil {
			return noStart(err)
		}
		if succeeded {
			return audit.Break(s.runtime, "a program in the sandbox could %q, and its limits were %+v and %+v", a.attack, a.limits, a.disk)
		}
	}
	return audit.Hold(s.runtime, "a program in the sandbox could exceed neither its limit of processes and threads, nor those of memory, of one file and of the disk, and could without; the limits were lower than those of a job, and the file on the disk had no name")
}

// exceeds reports whether a program could do what its limits forbid. A program that reaches a limit
// may end without a report.
func (m *Machine) exceeds(ctx context.Context, c sandbox.Command, l disk.Limits) (bool, error) {
	run := m.Parts.Run
	if l.Bytes > 0 {
		run = func(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
			return m.Parts.RunOnDisk(ctx, l, c)
		}
	}
	outcome, err := run(ctx, c)
	if err != nil {
		return false, err
	}
	if outcome.TimedOut {
		return false, errors.New("it reached neither a limit nor its end")
	}
	r, err := report(outcome)
	return err == nil && len(r.Did) > 0 && outcome.Exceeded == "", nil
}
