// Package probes attacks perstack on the machine of its user: one probe for each promise that can
// be checked there.
//
// A probe uses the code that a job uses, reached through [Parts], with hostile files, programs and
// servers of its own. Where it can, it first shows that the attack works without the protection:
// an attack that never works proves nothing. A probe works in a directory of its own, contacts
// nothing outside of this machine and asks no model. Tests put a broken part in the place of each
// protection, and check that exactly its promise fails.
//
// To add a probe, write a method of [Machine] and its row in promises.go. Start reading there.
package probes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A Machine is what probes attack.
type Machine struct {
	Program string // the file of this program
	Dir     string // for files; private, and removed by the caller
	Environ []string
	PID     int // of this process, which holds the secrets
	Parts   Parts

	scratch atomic.Int64
	working sync.WaitGroup // containers
	boxed   struct {       // the container that several probes look at
		once sync.Once
		seen boxed
		err  error
	}
}

// Wait returns when no probe uses the Docker daemon any more, at the latest some seconds after the
// audit was stopped: containers and networks have to be removed before this process ends.
func (m *Machine) Wait() { m.working.Wait() }

// Parts are the protections under test. Tests put broken ones in their place.
type Parts struct {
	Run       func(context.Context, sandbox.Command) (sandbox.Outcome, error)
	Start     func(context.Context, sandbox.Server) (Server, error)
	Protected func(variable string) bool
	Refused   func(*manifest.Config) error // variables that no skill gets

	Proxy     func(context.Context, egress.ProxyConfig, egress.ProxyOptions) (Proxy, error)
	Allowlist func(patterns []string) error
	Endpoint  func(url string) error // of a remote skill
	BaseURL   func(url string) error // of a provider
	Bound     func(answer []byte) error
	Post      func(ctx context.Context, baseURL, key string) error

	Workspace func(dir string, o workspace.Options) (Files, error)
	Toolbox   func(context.Context, []skill.Source) (Tools, error)
	Compare   func(pinned, live []skill.Tool) []string
	Package   func(args []string) error
	Program   func(dir string, argv []string) (string, error) // digest of a program
	MCP       func(mcp.Options) skill.Skill

	Store  func(dir string, s *store.Sealer) store.Store
	Clean  func(string) string
	Redact func(name, value, text string) string
	Watch  func(context.Context, TrustJob) (refused []string, err error)
	Asks   func(*manifest.Config) []string // what a project needs consent for
	Undo   func(context.Context, UndoJob) (conflicts []string, err error)
	Ask    func(context.Context, job.Spec, model.Model, []string, engine.Approver) (engine.Result, error)

	// Job runs a job with a model.
	Job func(context.Context, job.Spec, model.Model, []string) (engine.Result, error)

	// Level is the best sandbox of the machine, and why there is no better one.
	Level func(context.Context) (level expert.SandboxLevel, why string)
	// SelfTest is what a sandbox of level full looks like from inside.
	SelfTest func(context.Context) []probe.Step
	Confine  func(policy.Policy) *policy.Policy
	Search   func(ctx context.Context, workspace string) (*policy.Protected, error)
	// RunOnDisk is Run with a limit of what programs add to the disk.
	RunOnDisk func(context.Context, disk.Limits, sandbox.Command) (sandbox.Outcome, error)
	Take      func(net.Listener, egress.Listener, egress.ProxyOptions) (Proxy, error)

	// Container runs this program in a container like that of a job, ContainerJob runs a job in one
	// and returns the last result of a tool, and Sweep removes what a killed job left behind. They
	// are nil where an audit does not use a daemon.
	Container    func(ctx context.Context, spec job.Spec, environ, args []string) (docker.Trial, error)
	ContainerJob func(ctx context.Context, spec job.Spec, environ []string) (string, error)
	Sweep        func(ctx context.Context, environ []string) (left []string, err error)
}

// A Server is a program that was started.
type Server interface {
	Stop(grace time.Duration) error
}

// A Proxy decides about connections.
type Proxy interface {
	Listeners() []egress.Listener
	Serve(context.Context) error
}

// Files are what file tools use.
type Files interface {
	ReadFile(ctx context.Context, name string, most int64) (workspace.Info, []byte, error)
	WriteFile(ctx context.Context, name string, data []byte) (workspace.Info, error)
	Close() error
}

// Tools are those of an Expert.
type Tools interface {
	Tools() []skill.Tool
	Call(ctx context.Context, name string) (isError bool, err error)
	Close() error
}

// Real returns the protections of this program.
func Real(supervisor *sandbox.Supervisor) Parts {
	return Parts{
		Run: supervisor.Run,
		Start: func(ctx context.Context, s sandbox.Server) (Server, error) {
			p, err := supervisor.Start(ctx, s)
			if err != nil {
				return nil, err
			}
			go func() { _, _ = io.Copy(io.Discard, p.Stderr) }()
			go func() { _, _ = io.Copy(io.Discard, p.Stdout) }()
			return p, nil
		},
		Protected: env.Protected,
		Refused:   refusedVariables,
		Proxy: func(ctx context.Context, c egress.ProxyConfig, o egress.ProxyOptions) (Proxy, error) {
			return egress.Listen(ctx, c, o)
		},
		Allowlist: func(patterns []string) error { _, err := egress.ParseAllowlist(patterns); return err },
		Endpoint:  func(url string) error { return says(netaddr.EndpointURL(url, false)) },
		BaseURL:   func(url string) error { return netaddr.CheckBaseURL(url, false) },
		Bound:     wire.Bound,
		Post:      postKey,
		Workspace: func(dir string, o workspace.Options) (Files, error) { return workspace.Open(dir, o) },
		Toolbox:   newTools,
		Compare:   mcp.Compare,
		Package:   parsePackage,
		Program: func(dir string, argv []string) (string, error) {
			p, err := programs.Find(dir, argv)
			if err != nil {
				return "", err
			}
			return p.Digest()
		},
		MCP:   func(o mcp.Options) skill.Skill { o.Commands = supervisor; return mcp.New(o) },
		Store: func(dir string, s *store.Sealer) store.Store { return file.New(dir, nil).WithSeal(s) },
		Clean: terminal.Clean, Redact: redact, Watch: watch, Asks: asks, Undo: undo, Ask: askJob,
		Job:   runJob,
		Level: offered(), SelfTest: sandbox.Complete,
		Confine: func(p policy.Policy) *policy.Policy { return &p },
		Search: func(ctx context.Context, workspace string) (*policy.Protected, error) {
			return policy.Search(ctx, workspace, policy.Options{})
		},
		RunOnDisk: runOnDisk,
		Take: func(socket net.Listener, l egress.Listener, o egress.ProxyOptions) (Proxy, error) {
			return egress.Take(socket, l, o)
		},
		Container: tryContainer, ContainerJob: runContainerJob, Sweep: trySweep,
	}
}

// runOnDisk runs a program as the only one of a job.
func runOnDisk(ctx context.Context, l disk.Limits, c sandbox.Command) (outcome sandbox.Outcome, err error) {
	s := sandbox.NewSupervisor()
	s.LimitDisk(l)
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Run(ctx, c)
}

// offered returns a function that tries the sandbox of this machine once. A sandbox that can be
// started counts, even if its self-test finds it broken: jobs would use a lower level, and an audit
// has to say what is broken.
func offered() func(context.Context) (expert.SandboxLevel, string) {
	var once sync.Once
	var level expert.SandboxLevel
	var why string
	return func(ctx context.Context) (expert.SandboxLevel, string) {
		once.Do(func() {
			var steps []probe.Step
			level, steps = probe.Prober{Complete: func(ctx context.Context) []probe.Step {
				return sandbox.Complete(ctx)[:1] // the start itself
			}}.Level(context.WithoutCancel(ctx))
			for _, s := range steps {
				if s.Status == probe.Fail && why == "" {
					why = strings.TrimSpace(s.Name + " " + s.Errno + " " + s.Cause)
				}
			}
		})
		return level, why
	}
}

// says makes an error of a message with a hint.
func says(message, hint string) error {
	if message == "" {
		return nil
	}
	return errors.New(message + "; " + hint)
}

// dir makes a directory for one probe.
func (m *Machine) dir(name string) (string, error) {
	path := filepath.Join(m.Dir, fmt.Sprintf("%s-%d", name, m.scratch.Add(1)))
	return path, os.MkdirAll(path, 0o700)
}

// command is the hostile program with some attacks, without a sandbox.
func (m *Machine) command(dir string, attacks ...string) sandbox.Command {
	return sandbox.Command{
		Program: m.Program, Args: append([]string{hostile.Word}, attacks...), Dir: dir,
		Environ: m.Environ, Timeout: 30 * time.Second, Policy: policy.Off(policy.AuditControl),
	}
}

// run runs the hostile program and reads its report.
func (m *Machine) run(ctx context.Context, c sandbox.Command) (hostile.Report, error) {
	outcome, err := m.Parts.Run(ctx, c)
	if err != nil {
		return hostile.Report{}, err
	}
	return report(outcome)
}

// report reads the report of the hostile program.
func report(outcome sandbox.Outcome) (hostile.Report, error) {
	var r hostile.Report
	lines := strings.Split(strings.TrimSpace(outcome.Stdout.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		return r, fmt.Errorf("the hostile program ended with code %d %s and no report: %s", outcome.ExitCode, outcome.Signal, outcome.Stderr.String())
	}
	return r, nil
}

// noStart is the result of a probe that could not prepare its attack.
func noStart(err error) audit.Result { return audit.Skip("the attack could not be prepared: %v", err) }

// noControl is the result of a probe whose attack does not work without the protection either.
func noControl(what string) audit.Result {
	return audit.Skip("the attack proves nothing here: %s", what)
}
