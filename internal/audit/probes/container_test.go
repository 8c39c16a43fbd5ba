package probes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/job"
)

// A fakeDaemon answers for containers that keep all promises, apart from what it is told. Real ones
// are in test/docker.
type fakeDaemon struct {
	can     []string // beginnings of attacks that succeed
	why     string   // why files cannot be made
	endless bool     // the disk has no limit
	inspect string
	left    []string // of a run
	swept   []string // of a killed run, when the next has started
}

func (f fakeDaemon) container(_ context.Context, _ job.Spec, _, args []string) (docker.Trial, error) {
	var r hostile.Report
	for _, a := range args {
		a = strings.ReplaceAll(a, docker.Gateway, "192.0.2.1")
		r.Args = append(r.Args, a)
		switch {
		case slices.Contains(boxControls(), a), slices.ContainsFunc(f.can, func(begin string) bool { return strings.HasPrefix(a, begin) }):
			r.Did = append(r.Did, a)
		case strings.HasPrefix(a, hostile.Make):
			r.Failed = append(r.Failed, a+": open: "+f.why)
		default:
			r.Failed = append(r.Failed, a+": no")
		}
	}
	data, err := json.Marshal(r)
	return docker.Trial{Stdout: string(data), Inspect: []byte(f.inspect), Tokens: []string{"token"}, Left: f.left}, err
}

// job is a command that fills the disk, which the engine stops if there is a limit.
func (f fakeDaemon) job(_ context.Context, spec job.Spec, _ []string) (string, error) {
	if spec.Isolation.SandboxLimits.DiskGrowth > 0 && !f.endless {
		return `{"error":"command was killed with all it started: more than 16 MiB added to the disk"}`, nil
	}
	return `{"output":"{\"did\":[\"fill=/workspace/full\"]}"}`, nil
}

func (f fakeDaemon) sweep(context.Context, []string) ([]string, error) { return f.swept, nil }

// A container that keeps its promises is verified, and one that breaks one fails that one alone.
func TestContainers(t *testing.T) {
	good := fakeDaemon{why: "read-only file system", inspect: "{}"}
	for name, c := range map[string]struct {
		change func(*fakeDaemon)
		failed string
	}{
		"good":            {func(*fakeDaemon) {}, ""},
		"a capability":    {func(f *fakeDaemon) { f.can = []string{"has=capabilities"} }, "K1"},
		"new privileges":  {func(f *fakeDaemon) { f.can = []string{"has=new-privileges"} }, "K1"},
		"no filter":       {func(f *fakeDaemon) { f.can = []string{"has=all-calls"} }, "K1"},
		"root":            {func(f *fakeDaemon) { f.can = []string{"has=root"} }, "K2"},
		"a writable root": {func(f *fakeDaemon) { f.why = "permission denied" }, "K2"},
		"processors":      {func(f *fakeDaemon) { f.can = []string{"has=processors"} }, "K3"},
		"processes":       {func(f *fakeDaemon) { f.can = []string{"tasks="} }, "K3"},
		"memory":          {func(f *fakeDaemon) { f.can = []string{"use="} }, "K3"},
		"an env file":     {func(f *fakeDaemon) { f.can = []string{"read=/workspace/.env"} }, "K4"},
		"the socket":      {func(f *fakeDaemon) { f.can = []string{"unix=/var/run/docker.sock"} }, "K4"},
		"a process":       {func(f *fakeDaemon) { f.can = []string{"read=/proc/"} }, "K4"},
		"a full disk":     {func(f *fakeDaemon) { f.can = []string{"fill=/tmp/"} }, "K6"},
		"an open disk":    {func(f *fakeDaemon) { f.endless = true }, "K6"},
		"a secret":        {func(f *fakeDaemon) { f.inspect = `{"Env":["A=` + canary + `"]}` }, "K7"},
		"a token":         {func(f *fakeDaemon) { f.inspect = `{"Env":["A=token"]}` }, "K7"},
		"left behind":     {func(f *fakeDaemon) { f.left = []string{"container x"} }, "K8"},
		"not swept":       {func(f *fakeDaemon) { f.swept = []string{"network x"} }, "K8"},
		"the gateway":     {func(f *fakeDaemon) { f.can = []string{"connect=192.0.2.1:"} }, "N1"},
		"a server":        {func(f *fakeDaemon) { f.can = []string{"udp=127.0.0.1:"} }, "N1"},
		"a name server":   {func(f *fakeDaemon) { f.can = []string{"dns="} }, "N7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some probes wait for seconds
			m, f := newMachine(t), good
			m.PID = max(m.PID, leastPID)
			c.change(&f)
			m.Parts.Container, m.Parts.ContainerJob, m.Parts.Sweep = f.container, f.job, f.sweep
			all := slices.DeleteFunc(Promises(m), func(p audit.Promise) bool {
				return p.Probe == nil || p.Area != "Container" && p.ID != "N1" && p.ID != "N7"
			})
			claims, err := audit.Run(t.Context(), all, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, claim := range claims {
				want := audit.Verified
				if claim.ID == c.failed {
					want = audit.Failed
				}
				if claim.Status != want || !strings.Contains(claim.Runtime, audit.Docker) {
					t.Errorf("%s is %s, want %s: %s: %s%s", claim.ID, claim.Status, want, claim.Runtime, claim.Reason, claim.Evidence)
				}
			}
		})
	}
}

// Without a daemon, the probes say what is missing.
func TestNoContainers(t *testing.T) {
	m := newMachine(t)
	m.Parts.Container = func(context.Context, job.Spec, []string, []string) (docker.Trial, error) {
		return docker.Trial{}, &docker.DaemonError{Err: errors.New("cannot reach it")}
	}
	for _, p := range Promises(m) {
		if p.Area != "Container" || p.Probe == nil {
			continue
		}
		if r := p.Probe(t.Context()); r.Status != audit.Unavailable || r.Reason != "there is no Docker daemon to start a container on: cannot reach it" {
			t.Errorf("%s: %+v", p.ID, r)
		}
	}
}
