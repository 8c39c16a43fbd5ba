package probes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/job"
)

// The probes of containers start the hostile program in a container that is made as that of a job,
// in the place of the engine. The image has nothing in it but this program, so nothing is pulled.

// The limits of these containers: few enough to be reached quickly.
const (
	boxMemory   = 256 << 20
	boxTasks    = 64
	boxTmp      = 8 << 20
	boxHome     = 4 << 20
	otherUser   = 65534 // owns the workspace of an audit by root: no container runs as root
	leastPID    = 1024  // a smaller number can be that of a process in the container, too
	boxedSecret = "PERSTACK_AUDIT_BOXED"
)

// Where things are in a container.
const (
	boxWorkspace = job.ContainerWorkspace
	boxHomeDir   = "/home/perstack"
)

// A boxed program is what the hostile program did in its container.
type boxed struct {
	report   hostile.Report
	trial    docker.Trial
	network  []string          // connections to servers of this machine, all of which work outside
	lookups  []string          // DNS queries to such servers
	outside  []string          // attacks on files and processes of this machine, which work outside
	failures map[string]string // of the attacks that failed
}

func tryContainer(ctx context.Context, spec job.Spec, environ, args []string) (docker.Trial, error) {
	spec.Complete(providers.Catalogue{})
	return docker.Try(ctx, spec, boxParts(environ), args)
}

func trySweep(ctx context.Context, environ []string) ([]string, error) {
	return docker.TrySweep(ctx, boxParts(environ))
}

func boxParts(environ []string) engine.Parts {
	return engine.Parts{Environ: environ, Log: slog.New(slog.DiscardHandler)}
}

// noContainer is the result of a probe that could have no container.
func noContainer(err error) audit.Result {
	if _, ok := errors.AsType[*docker.DaemonError](err); ok {
		return audit.Skip("there is no Docker daemon to start a container on: %v", err)
	}
	return audit.Skip("a container could not be started: %v", err)
}

// errNoDaemon says that an audit has no use for a daemon.
var errNoDaemon = errors.New("this audit does not use Docker")

// box is the hostile program with some attacks in a container.
func (m *Machine) box(ctx context.Context, ws string, limits job.Container, attacks []string) (docker.Trial, error) {
	if m.Parts.Container == nil {
		return docker.Trial{}, errNoDaemon
	}
	spec := m.boxSpec(ws, limits)
	spec.Isolation.Env = []string{boxedSecret}
	environ := append(slices.Clone(m.Environ), boxedSecret+"="+canary)
	return within(ctx, &m.working, func() (docker.Trial, error) {
		return m.Parts.Container(ctx, spec, environ, append([]string{hostile.Word, hostile.NoInput}, attacks...))
	})
}

// boxSpec is a job in a container.
func (m *Machine) boxSpec(ws string, limits job.Container) job.Spec {
	return job.Spec{
		JobID: "audit" + strconv.Itoa(m.PID), Expert: "audit", Experts: []*expert.Expert{{Key: "audit", Name: "audit", Version: "1.0.0", Instruction: "x"}},
		Workspace: job.Workspace{Dir: ws, ReadOnly: []string{filepath.Join(ws, "perstack.toml")}},
		Settings:  job.Settings{Runtime: job.Docker, Isolation: job.Isolation{Container: limits}},
	}
}

// within returns when something is done, or with the cause of ctx: removing a container can take
// longer than a probe has, which says nothing about a promise.
func within[T any](ctx context.Context, working *sync.WaitGroup, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ended := make(chan result, 1)
	working.Go(func() {
		value, err := do()
		ended <- result{value, err}
	})
	select {
	case r := <-ended:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// boxWorkspaceDir makes a workspace for a container, with files that must be hidden and read-only
// in there.
func (m *Machine) boxWorkspaceDir() (ws string, err error) {
	if ws, err = m.dir("boxed"); err != nil {
		return "", err
	}
	if ws, err = filepath.EvalSymlinks(ws); err != nil {
		return "", err
	}
	paths := []string{ws}
	for _, name := range []string{".env", "perstack.toml", "plain"} {
		path := filepath.Join(ws, name)
		if err := os.WriteFile(path, []byte(canary), 0o600); err != nil {
			return "", err
		}
		paths = append(paths, path)
	}
	if os.Getuid() == 0 {
		for _, path := range paths {
			if err := os.Lchown(path, otherUser, otherUser); err != nil {
				return "", err
			}
		}
	}
	return ws, nil
}

// inContainer attacks a container once, for all probes.
func (m *Machine) inContainer(ctx context.Context) (boxed, error) {
	m.boxed.once.Do(func() { m.boxed.seen, m.boxed.err = m.attackContainer(ctx) })
	return m.boxed.seen, m.boxed.err
}

func (m *Machine) attackContainer(ctx context.Context) (b boxed, err error) {
	ws, err := m.boxWorkspaceDir()
	if err != nil {
		return b, err
	}
	servers, err := m.serve(ctx, hostile.Connect, hostile.Datagram, hostile.Socket, hostile.Query)
	if err != nil {
		return b, err
	}
	defer servers.end()
	elsewhere, err := m.dir("elsewhere")
	if err != nil {
		return b, err
	}
	secret := filepath.Join(elsewhere, "secret")
	if err := os.WriteFile(secret, []byte(canary), 0o644); err != nil {
		return b, err
	}
	for _, attack := range servers.attacks() {
		if strings.HasPrefix(attack, hostile.Query+"=") {
			b.lookups = append(b.lookups, attack)
		} else {
			b.network = append(b.network, attack)
		}
	}
	everywhere, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", ":0")
	if err != nil {
		return b, err
	}
	defer everywhere.Close()
	go closeStreams(everywhere)
	port := strconv.Itoa(everywhere.Addr().(*net.TCPAddr).Port)
	b.outside = []string{hostile.Read + "=" + secret, hostile.Write + "=" + secret}
	if m.PID >= leastPID {
		b.outside = append(b.outside, hostile.Read+"=/proc/"+strconv.Itoa(m.PID)+"/status")
	}
	working := slices.Concat(b.network, b.lookups, b.outside)
	free, err := m.run(ctx, m.command(elsewhere, append(slices.Clone(working), hostile.Connect+"=127.0.0.1:"+port)...)) // root cannot use a workspace of another user here
	if err != nil {
		return b, err
	}
	if len(free.Did) != len(working)+1 {
		return b, fmt.Errorf("the attacks prove nothing here, since these fail without a container, too: %q", free.Failed)
	}
	attacks := slices.Concat(working, []string{hostile.Connect + "=" + docker.Gateway + ":" + port}, privilegeAttacks(), rootAttacks(), hostAttacks(), boxControls(), sizeAttacks(), []string{hostile.Has + "=" + hostile.Processors})
	limits := job.Container{Memory: boxMemory, PIDs: boxTasks, TmpSize: boxTmp, CacheSize: boxHome}
	if b.trial, err = m.box(ctx, ws, limits, attacks); err != nil {
		return b, err
	}
	b.report, b.failures, err = readBoxed(b.trial)
	for _, arg := range b.report.Args { // which have the address of the gateway
		if strings.HasPrefix(arg, hostile.Connect+"=") && strings.HasSuffix(arg, ":"+port) {
			b.network = append(b.network, arg)
		}
	}
	if err == nil && !b.did(boxControls()...) {
		err = fmt.Errorf("what a program in a container needs does not work there either: %q", b.report.Failed)
	}
	return b, err
}

// readBoxed reads the report of the hostile program in a container.
func readBoxed(t docker.Trial) (r hostile.Report, failures map[string]string, err error) {
	lines := strings.Split(strings.TrimSpace(t.Stdout), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		return r, nil, fmt.Errorf("the hostile program in the container ended with code %d and no report", t.Exit.Code)
	}
	failures = make(map[string]string)
	for _, line := range r.Failed {
		attack, why, _ := strings.Cut(line, ": ")
		failures[attack] = why
	}
	return r, failures, nil
}

// did reports whether all attacks succeeded.
func (b boxed) did(attacks ...string) bool {
	return !slices.ContainsFunc(attacks, func(a string) bool { return !slices.Contains(b.report.Did, a) })
}

// succeeded returns those attacks that did.
func (b boxed) succeeded(attacks []string) (did []string) {
	for _, a := range attacks {
		if b.did(a) {
			did = append(did, a)
		}
	}
	return did
}

func (b boxed) judge(attacks []string, format string, args ...any) audit.Result {
	if did := b.succeeded(attacks); len(did) > 0 {
		return audit.Break(audit.Docker, "a program in a container could %q", did)
	}
	return audit.Hold(audit.Docker, format, args...)
}

// boxControls are what programs in a container can do: without them, nothing is proved.
func boxControls() []string {
	return []string{hostile.Make + "=" + boxWorkspace + "/new", hostile.Make + "=/tmp/new", hostile.Make + "=" + boxHomeDir + "/new", hostile.Write + "=" + boxWorkspace + "/plain"}
}

func privilegeAttacks() []string {
	return []string{hostile.Has + "=" + hostile.Capabilities, hostile.Has + "=" + hostile.NewPrivileges, hostile.Has + "=" + hostile.AllCalls}
}

// privileges attacks K1.
func (m *Machine) privileges(ctx context.Context) audit.Result {
	b, err := m.inContainer(ctx)
	if err != nil {
		return noContainer(err)
	}
	return b.judge(privilegeAttacks(), "a program in a container has no capability and can gain none, and a system call that Docker's default profile refuses was refused")
}

func rootAttacks() []string {
	return []string{hostile.Has + "=" + hostile.Root, hostile.Make + "=/new", hostile.Make + "=/etc/new", hostile.Make + "=/usr/new", hostile.Make + "=/perstack.new"}
}

// readOnlyRoot attacks K2. A file that cannot be made for another reason than the read-only file
// system, such as the mode of a directory, proves nothing.
func (m *Machine) readOnlyRoot(ctx context.Context) audit.Result {
	b, err := m.inContainer(ctx)
	if err != nil {
		return noContainer(err)
	}
	if why := b.failures[hostile.Make+"=/new"]; why != "" && !strings.Contains(why, "read-only") {
		return audit.Break(audit.Docker, "the root file system of a container is not read-only: making a file there failed with %q", why)
	}
	return b.judge(rootAttacks(), "a program in a container is not root, and could make no file but in the workspace, in /tmp and in its home directory")
}

// boxLimits attacks K3.
func (m *Machine) boxLimits(ctx context.Context) audit.Result {
	b, err := m.inContainer(ctx)
	if err != nil {
		return noContainer(err)
	}
	processors := hostile.Has + "=" + hostile.Processors
	if b.failures[processors] == hostile.NoQuota {
		return noControl("the kernel does not show the limit of processors in a container")
	}
	if b.did(processors) {
		return audit.Break(audit.Docker, "a container has no limit of processors")
	}
	ws, err := m.boxWorkspaceDir()
	if err != nil {
		return noStart(err)
	}
	limits := job.Container{Memory: boxMemory, PIDs: boxTasks}
	for _, attack := range []string{hostile.Tasks + "=" + strconv.Itoa(manyTasks), hostile.Use + "=" + strconv.Itoa(muchRAM)} {
		if free, err := m.run(ctx, m.command(m.Dir, hostile.NoInput, attack)); err != nil || len(free.Did) != 1 {
			return noControl(fmt.Sprintf("without a container, it fails, too: %q %v", free.Failed, err))
		}
		t, err := m.box(ctx, ws, limits, []string{attack})
		if err != nil {
			return noContainer(err)
		}
		// A program that reaches a limit may end without a report.
		if r, _, err := readBoxed(t); err == nil && len(r.Did) > 0 {
			return audit.Break(audit.Docker, "a program in a container could %q, and its limits were %d MiB and %d processes", attack, boxMemory>>20, boxTasks)
		}
	}
	return audit.Hold(audit.Docker, "a program in a container could exceed neither its limit of processes and threads nor that of memory, and could without; its quota of processors is that of the job; the limits were lower than those of a job")
}

func hostAttacks() []string {
	return []string{
		hostile.Has + "=" + hostile.Disks, hostile.Socket + "=/var/run/docker.sock", hostile.Socket + "=/run/docker.sock",
		hostile.Read + "=" + boxWorkspace + "/.env", hostile.Write + "=" + boxWorkspace + "/perstack.toml",
	}
}

// hostIsHidden attacks K4.
func (m *Machine) hostIsHidden(ctx context.Context) audit.Result {
	b, err := m.inContainer(ctx)
	if err != nil {
		return noContainer(err)
	}
	return b.judge(append(hostAttacks(), b.outside...), "a program in a container could neither read nor change a file of this machine outside of the workspace, see perstack, use a disk or reach the Docker daemon; in the workspace, it could not read .env or change perstack.toml, and could change another file")
}

func sizeAttacks() []string {
	return []string{hostile.Fill + "=/tmp/full", hostile.Fill + "=" + boxHomeDir + "/full"}
}

// boxSizes attacks K6.
func (m *Machine) boxSizes(ctx context.Context) audit.Result {
	b, err := m.inContainer(ctx)
	if err != nil {
		return noContainer(err)
	}
	if did := b.succeeded(sizeAttacks()); len(did) > 0 {
		return audit.Break(audit.Docker, "a program in a container could %q", did)
	}
	if free, err := m.fillFromJob(ctx, 0); err != nil || len(free.Did) != 1 {
		return noControl(fmt.Sprintf("a command of a job in a container cannot fill the disk without a limit either: %q %v", free.Failed, err))
	}
	switch r, err := m.fillFromJob(ctx, littleSpace); {
	case errors.Is(err, errKilled):
	case err != nil:
		return noContainer(err)
	default:
		return audit.Break(audit.Docker, "a command of a job in a container could %q, and diskGrowth was %d MiB", r.Did, littleSpace>>20)
	}
	return audit.Hold(audit.Docker, "a program in a container could fill neither /tmp nor its home directory, which had %d and %d MiB, with 64 MiB; a command of a job that kept a file of 64 MiB without a name was killed with a limit of %d MiB, and not without", boxTmp>>20, boxHome>>20, littleSpace>>20)
}

// errKilled says that a command was killed by a limit of the disk.
var errKilled = errors.New("the command was killed")

// fillFromJob runs a job in a container whose command fills the disk: the engine there limits it,
// not the container. All programs share one sandbox, in which this program is the command.
func (m *Machine) fillFromJob(ctx context.Context, limit int64) (r hostile.Report, err error) {
	ws, err := m.boxWorkspaceDir()
	if err != nil {
		return r, err
	}
	dir, err := m.dir("cassette")
	if err != nil {
		return r, err
	}
	cassette := filepath.Join(dir, "cassette.toml")
	stay := ""
	if limit > 0 {
		stay = hostile.Hold
	}
	script := fmt.Sprintf("[[turn]]\n[[turn.call]]\ntool = \"exec\"\nargs = {command = \"/perstack\", args = [%q, %q, %q, %q]}\n[[turn]]\ntext = \"done\"\n",
		hostile.Word, hostile.NoInput, stay, hostile.Fill+"="+boxWorkspace+"/full")
	if err := os.WriteFile(cassette, []byte(script), 0o600); err != nil {
		return r, err
	}
	spec := m.boxSpec(ws, job.Container{})
	spec.Provider, spec.Model, spec.Setting.Cassette = "replay", "cassette", cassette
	spec.Input.Query = "go"
	spec.Isolation.SharedSandbox, spec.Isolation.SandboxLimits.DiskGrowth = true, limit
	said, err := within(ctx, &m.working, func() (string, error) { return m.Parts.ContainerJob(ctx, spec, m.Environ) })
	if err != nil {
		return r, err
	}
	var result struct{ Output, Error string }
	if err := json.Unmarshal([]byte(said), &result, json.MatchCaseInsensitiveNames(true)); err != nil {
		return r, fmt.Errorf("the result of the command is not JSON: %w", err)
	}
	if strings.Contains(result.Error, "added to the disk") {
		return r, errKilled
	}
	r, _, err = readBoxed(docker.Trial{Stdout: result.Output})
	return r, err
}

// runContainerJob returns the text of the last result of a tool.
func runContainerJob(ctx context.Context, spec job.Spec, environ []string) (said string, err error) {
	for e, err := range perstack.Run(ctx, spec, perstack.Parts{Environ: environ}) {
		if err != nil {
			return "", err
		}
		if results, ok := e.Body.(event.ResolveToolResults); ok {
			for _, r := range results.ToolResults {
				for _, p := range r.Result {
					said = p.Text
				}
			}
		}
	}
	if said == "" {
		return "", errors.New("the job ended without a result of its command")
	}
	return said, nil
}

// boxSecrets attacks K7.
func (m *Machine) boxSecrets(ctx context.Context) audit.Result {
	b, err := m.inContainer(ctx)
	if err != nil {
		return noContainer(err)
	}
	if len(b.trial.Inspect) == 0 || len(b.trial.Tokens) == 0 {
		return noControl("the daemon says nothing about the container, or there is no secret")
	}
	for _, secret := range append(b.trial.Tokens, canary) {
		if bytes.Contains(b.trial.Inspect, []byte(secret)) {
			return audit.Break(audit.Docker, "docker inspect shows a secret of the run")
		}
	}
	return audit.Hold(audit.Docker, "neither a variable that commands get nor the %d tokens of the proxy are in what the daemon says about the containers, their network and their image", len(b.trial.Tokens))
}

// nothingLeft attacks K8.
func (m *Machine) nothingLeft(ctx context.Context) audit.Result {
	b, err := m.inContainer(ctx)
	if err != nil {
		return noContainer(err)
	}
	if len(b.trial.Left) > 0 {
		return audit.Break(audit.Docker, "the end of a run left %q on the Docker daemon", b.trial.Left)
	}
	left, err := within(ctx, &m.working, func() ([]string, error) { return m.Parts.Sweep(ctx, m.Environ) })
	if err != nil {
		return noContainer(err)
	}
	if len(left) > 0 {
		return audit.Break(audit.Docker, "%q of a killed run is not removed by the next", left)
	}
	return audit.Hold(audit.Docker, "two containers and two networks were removed when the program in one of them had ended, and a network as a killed run leaves it behind was removed, too")
}

// fromContainer adds to a result about the network what a program in a container could reach. What
// is not tried there is left to the result for the sandbox.
func (m *Machine) fromContainer(ctx context.Context, before audit.Result, attacks func(boxed) []string) audit.Result {
	if before.Status == audit.Failed {
		return before
	}
	b, err := m.inContainer(ctx)
	if err != nil {
		return before
	}
	tried := attacks(b)
	after := b.judge(tried, "a program in a container reached none of %d servers of this machine, and all of them without one", len(tried))
	if after.Status == audit.Verified && before.Status == audit.Verified {
		return audit.Hold(before.Runtime+", "+audit.Docker, "%s; %s", before.Evidence, after.Evidence)
	}
	return after
}
