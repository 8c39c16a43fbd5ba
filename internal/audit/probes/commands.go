package probes

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// noShell attacks X1.
func (m *Machine) noShell(ctx context.Context) audit.Result {
	dir, err := m.dir("shell")
	if err != nil {
		return noStart(err)
	}
	args := []string{"$(touch expanded)", "`touch expanded`", "; touch expanded", "| touch expanded", "$HOME", "*", "~", "a b", "", "\n", "--flag"}
	r, err := m.run(ctx, m.command(dir, args...))
	if err != nil {
		return noStart(err)
	}
	if !slices.Equal(r.Args, args) {
		return audit.Break(audit.BuiltIn, "arguments were changed: %q became %q", args, r.Args)
	}
	if left, err := userfile.Names(dir, 10); err != nil || len(left) > 0 {
		return audit.Break(audit.BuiltIn, "an argument was run: %v", left)
	}
	return audit.Hold(audit.BuiltIn, "%d arguments with characters of shells arrived as they were", len(args))
}

// startState attacks X2.
func (m *Machine) startState(ctx context.Context) audit.Result {
	dir, err := m.dir("start")
	if err != nil {
		return noStart(err)
	}
	r, err := m.run(ctx, m.command(dir))
	if err != nil {
		return noStart(err)
	}
	if r.Stdin != 0 {
		return audit.Break(audit.BuiltIn, "a command could read from standard input")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return noStart(err)
	}
	if r.Dir != real && r.Dir != dir {
		return audit.Break(audit.BuiltIn, "a command started in %q instead of the workspace", r.Dir)
	}
	return audit.Hold(audit.BuiltIn, "a command started in the workspace, with nothing to read")
}

// ends attacks X3.
func (m *Machine) ends(ctx context.Context) audit.Result {
	dir, err := m.dir("ends")
	if err != nil {
		return noStart(err)
	}
	file := filepath.Join(dir, "pid")
	c := m.command(dir, hostile.Linger+"="+file, hostile.Sleep+"=60000")
	c.Timeout, c.Grace = 3*time.Second, 100*time.Millisecond
	outcome, err := m.Parts.Run(ctx, c)
	if err != nil {
		return noStart(err)
	}
	if !outcome.TimedOut || outcome.ExitCode == 0 {
		return audit.Break(audit.BuiltIn, "a command that ran into its timeout is reported with code %d", outcome.ExitCode)
	}
	if r := survived(ctx, file, "a timeout"); r.Status != audit.Verified {
		return r
	}
	const flood = 4 << 20
	c = m.command(dir, hostile.Flood+"="+strconv.Itoa(flood))
	if outcome, err = m.Parts.Run(ctx, c); err != nil {
		return noStart(err)
	}
	if kept := len(outcome.Stdout.Head) + len(outcome.Stdout.Tail); kept > sandbox.DefaultMaxOutput || outcome.Stdout.LeftOut == 0 || !strings.Contains(outcome.Stdout.String(), "left out") && !strings.Contains(outcome.Stdout.String(), "missing") && int64(kept)+outcome.Stdout.LeftOut < flood {
		return audit.Break(audit.BuiltIn, "of %d bytes, %d were kept and %d reported as left out", flood, kept, outcome.Stdout.LeftOut)
	}
	return audit.Hold(audit.BuiltIn, "a timeout ended a command and the process in a session of its own that it had left behind; of 4 MiB of output %d bytes were kept, and the rest was counted", len(outcome.Stdout.Head)+len(outcome.Stdout.Tail))
}

// survived looks for the process whose number is in a file.
func survived(ctx context.Context, file, after string) audit.Result {
	if runtime.GOOS != "linux" {
		return audit.Result{Status: audit.Verified} // such a process is not promised to end elsewhere
	}
	data, err := userfile.Read(file, 32)
	if err != nil {
		return noStart(err)
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		return noStart(err)
	}
	for range 50 {
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
			return audit.Result{Status: audit.Verified}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return audit.Skip("the audit was stopped")
		}
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it is ours
	}
	return audit.Break(audit.BuiltIn, "a process survived %s", after)
}

// servers attacks S4.
func (m *Machine) servers(ctx context.Context) audit.Result {
	dir, err := m.dir("server")
	if err != nil {
		return noStart(err)
	}
	file := filepath.Join(dir, "pid")
	c := m.command(dir, hostile.NoInput, hostile.Linger+"="+file, hostile.Sleep+"=60000")
	server, err := m.Parts.Start(ctx, sandbox.Server{Program: c.Program, Args: c.Args, Dir: dir, Environ: c.Environ, Policy: c.Policy})
	if err != nil {
		return noStart(err)
	}
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			_ = server.Stop(0)
			return audit.Skip("the hostile server did not start in time")
		}
	}
	if err := server.Stop(100 * time.Millisecond); err != nil {
		return audit.Break(audit.BuiltIn, "a server did not end: %v", err)
	}
	if r := survived(ctx, file, "the end of its server"); r.Status != audit.Verified {
		return r
	}
	return audit.Hold(audit.BuiltIn, "a server that does not end by itself was ended, with a process in a session of its own that it had left behind")
}
