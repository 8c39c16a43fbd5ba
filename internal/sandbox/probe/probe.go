// Package probe finds out which sandbox this machine offers, by trying it: it starts this
// program again in new namespaces, which does there what a sandbox needs and reports each step.
//
// What a step changes ends with the process that tried it: no mount, process, file or setting is
// left. The package starts nothing else, and restricts neither this process nor its threads.
//
// Start reading at [Level]; inside_linux.go has the steps, and explain.go their causes and
// remedies.
package probe

import (
	"context"

	"github.com/perstack-go/perstack/expert"
)

// A Status says how a step ended.
type Status string

// How a step ended. A step is skipped if one that it needs failed.
const (
	OK      Status = "ok"
	Fail    Status = "fail"
	Skipped Status = "skipped"
)

// A Step is one thing that a sandbox needs of the machine.
type Step struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitzero"` // what was found, or what was tried when it failed
	Errno  string `json:"errno,omitzero"`  // such as EPERM, if the kernel refused it
	Cause  string `json:"cause,omitzero"`  // why it failed, as far as that can be known
	Remedy string `json:"remedy,omitzero"` // what the user can do
}

// The names of the steps, in their order.
const (
	Namespaces = "namespaces" // user, mount, pid, net, ipc and uts namespaces
	IDs        = "ids"        // the user and the group of this process, in the new namespace
	Mounts     = "mounts"     // a private tree with a root of its own
	Proc       = "proc"       // a /proc of the new pid namespace
	Network    = "network"    // a loopback interface
	Landlock   = "landlock"
	Seccomp    = "seccomp"
	Memory     = "memory" // by what memory is limited
	Caches     = "caches" // overlayfs
	Start      = "start"  // a complete start; see [Prober]. Its checks are start.NAME
)

// order is how steps are listed.
var order = []string{Namespaces, IDs, Mounts, Proc, Network, Landlock, Seccomp, Memory, Caches}

// A Prober asks the machine. The zero value is ready to use.
type Prober struct {
	// Complete starts a real sandbox of level full and checks it from inside, if the steps alone
	// say that it can be had. It returns a step for each check. One that fails lowers the level.
	// If it is nil, the steps alone decide.
	Complete func(ctx context.Context) []Step
	// Known remembers level full in this process; nil for nothing. See [Prober.Offered].
	Known *Knowledge

	sysctl func(name string) (string, bool) // nil to ask the kernel
}

// Level returns the best level that this machine offers, [expert.SandboxOff] if there is none, and
// the steps that say why. A context that ends gives no level: the steps that did not run failed.
func Level(ctx context.Context) (expert.SandboxLevel, []Step) { return Prober{}.Level(ctx) }

// Level is the function of that name, with the complete start.
func (p Prober) Level(ctx context.Context) (expert.SandboxLevel, []Step) {
	sysctl := p.sysctl
	if sysctl == nil {
		sysctl = readSysctl
	}
	steps, f := run(ctx)
	f.sysctl = sysctl
	for i := range steps {
		explain(&steps[i], f)
	}
	level := decide(steps, f)
	if level == expert.SandboxFull && p.Complete != nil {
		checks := p.Complete(ctx)
		steps = append(steps, checks...)
		if len(failing(checks)) > 0 {
			level = decideWithoutNamespaces(steps, f)
		}
	}
	return level, steps
}

// facts are what the meaning of a step depends on.
type facts struct {
	root   bool // this process belongs to user 0
	abi    int  // of Landlock; 0 if there is none
	sysctl func(name string) (string, bool)
}

// minABI is the version of Landlock that knows TCP ports, without which the level landlock would
// leave the network open.
const minABI = 4

// decide says which level the steps add up to. Root is not stopped by file modes, so it needs
// Landlock beside the namespaces. Memory and caches have substitutes.
func decide(steps []Step, f facts) expert.SandboxLevel {
	need := []string{Namespaces, IDs, Mounts, Proc, Network, Seccomp}
	if f.root {
		need = append(need, Landlock)
	}
	if passed(steps, need...) {
		return expert.SandboxFull
	}
	return decideWithoutNamespaces(steps, f)
}

func decideWithoutNamespaces(steps []Step, f facts) expert.SandboxLevel {
	if f.abi >= minABI && passed(steps, Landlock, Seccomp) {
		return expert.SandboxLandlock
	}
	return expert.SandboxOff
}

func passed(steps []Step, names ...string) bool {
	for _, name := range names {
		ok := false
		for _, s := range steps {
			ok = ok || s.Name == name && s.Status == OK
		}
		if !ok {
			return false
		}
	}
	return true
}

func failing(steps []Step) (found []Step) {
	for _, s := range steps {
		if s.Status == Fail {
			found = append(found, s)
		}
	}
	return found
}

// landlockDetail says what a version of Landlock leaves open at level landlock.
func landlockDetail(abi int) string {
	switch {
	case abi < minABI:
		return "it cannot restrict the network, so that it is used together with namespaces only"
	case abi < 6:
		return "at level landlock, signals and abstract sockets are not kept apart: this needs Linux 6.12"
	}
	return ""
}
