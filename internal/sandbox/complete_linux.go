package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/sandbox/selfcheck"
)

// completeTimeout is for a machine that is very busy: the checks take some ten milliseconds.
const completeTimeout = 30 * time.Second

// Complete starts a sandbox of level full around this program, in a temporary workspace, and
// returns what it found out there: a step for the start, and one for each check. It is the
// complete start of a [probe.Prober], and leaves nothing behind.
func Complete(ctx context.Context) []probe.Step { return complete(ctx, func(*Command) {}) }

// complete is Complete with a command that tests change.
func complete(ctx context.Context, change func(*Command)) []probe.Step {
	results, err := checkInside(ctx, change)
	start := probe.Step{Name: probe.Start, Status: probe.OK, Detail: "a complete sandbox was started, and its end was reported"}
	if err != nil {
		const remedy = "report it, with the version of your kernel, as SECURITY.md says"
		start = probe.Step{Name: probe.Start, Status: probe.Fail, Detail: "start a complete sandbox", Cause: err.Error(), Remedy: remedy}
	}
	steps := []probe.Step{start}
	for _, name := range selfcheck.Names() {
		step := probe.Step{Name: probe.Start + "." + name, Status: probe.Skipped, Detail: "a step before it failed"}
		if i := slices.IndexFunc(results, func(r selfcheck.Result) bool { return r.Name == name }); i >= 0 {
			step.Status, step.Detail = probe.OK, results[i].Found
			if r := results[i]; r.Failed != "" {
				step.Status, step.Detail, step.Cause = probe.Fail, r.What, r.Failed
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// checkInside starts the sandbox and returns the results of the checks. The error is about the
// start or the end.
func checkInside(ctx context.Context, change func(*Command)) (results []selfcheck.Result, err error) {
	top, err := os.MkdirTemp("", "perstack-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	host, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer host.Close()
	c, err := checkCommand(top, host.Addr())
	if err != nil {
		return nil, err
	}
	change(&c)
	s := NewSupervisor()
	defer func() { err = errors.Join(err, s.Close()) }()
	out, err := s.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	if out.Cancelled || out.TimedOut {
		return nil, errors.Join(errors.New("the checks did not end in time"), context.Cause(ctx))
	}
	if json.Unmarshal([]byte(out.Stdout.String()), &results) != nil || len(results) == 0 {
		err = fmt.Errorf("the program in it made no checks (%s)", out.Stderr.String())
	}
	if out.ExitCode != selfcheck.ExitCode {
		err = errors.Join(fmt.Errorf("a program in it ended with code %d, and %d %s was reported", selfcheck.ExitCode, out.ExitCode, out.Signal), err)
	}
	return results, err
}

// checkCommand is this program with its checks, in a new workspace.
func checkCommand(top string, host net.Addr) (c Command, err error) {
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return c, err
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return c, fmt.Errorf("find the file of this program: %w", err)
	}
	proxy, err := net.ResolveTCPAddr("tcp4", policy.ProxyAddress)
	if err != nil {
		return c, err
	}
	spec := selfcheck.Spec{
		Workspace: filepath.Join(top, "workspace"), Home: filepath.Join(top, "home"), Outside: filepath.Join(top, "outside"),
		Host: host.(*net.TCPAddr).Port, Proxy: proxy.Port,
	}
	for _, path := range []string{
		spec.Outside, filepath.Join(spec.Home, "secret"), filepath.Join(spec.Workspace, selfcheck.HiddenFile),
		filepath.Join(spec.Workspace, selfcheck.FrozenFile), filepath.Join(spec.Workspace, selfcheck.PinnedDir, "config"),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(selfcheck.Content), 0o600)); err != nil {
			return c, err
		}
	}
	text, err := json.Marshal(spec)
	return Command{
		Program: program, Args: []string{selfcheck.Word, string(text)}, Dir: spec.Workspace,
		Policy: &policy.Policy{
			Level: expert.SandboxFull, Workspace: policy.Workspace{Path: spec.Workspace}, Home: spec.Home, Read: []string{program}, Listener: true,
			Hidden: []string{selfcheck.HiddenFile}, Frozen: []string{selfcheck.FrozenFile}, Pinned: []string{selfcheck.PinnedDir},
		},
		Accept: answerChecks, Timeout: completeTimeout,
	}, err
}

// answerChecks serves the listener of the sandbox as long as that exists.
func answerChecks(l net.Listener) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(selfcheck.Answer)) // what does not arrive fails the check
			conn.Close()
		}
	}()
}
