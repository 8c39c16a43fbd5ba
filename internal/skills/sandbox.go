package skills

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/job"
)

// Sandboxes says which skills run in a sandbox, and what each sandbox has.
type Sandboxes struct {
	// All puts every program into a sandbox; otherwise only those of skills that ask for it.
	All bool
	// System is what all programs can read: see [landlock.SystemPaths].
	System []string
	// Tmp and Home are directories in which each sandbox gets its own directory. The names
	// cannot be guessed: another program cannot list them, but could open one by its name.
	Tmp, Home string
	// OwnListeners opens a proxy in this process, with a listener for each sandboxed skill. It is
	// for runtimes that have no proxy.
	OwnListeners bool
	// Reach is what programs can use besides System and the workspace.
	Reach job.Reach
	// MaxTasks is how many processes and threads a sandbox can have; 0 means no limit.
	MaxTasks int
	// MaxMemory and MaxFileSize are the bytes that a program can use, and that a file can have; 0
	// means no limit.
	MaxMemory, MaxFileSize int64

	plans         bool        // nothing outside of the sandbox can be changed
	fixedMetadata bool        // nor modes, owners and times there
	full          *namespaces // at level full; else nil. See Prepare

	places  policy.Places // what cannot be opened while the job runs, with private
	private policy.Private
}

// planning returns the sandboxes of a Run that only plans: programs can read what they could
// otherwise read or change, and reach no host. A container mounts the workspace read-only.
func (c *Sandboxes) planning(container bool) *Sandboxes {
	p := *c
	p.plans, p.fixedMetadata = true, !container
	p.Reach.Read, p.Reach.Write = slices.Concat(c.Reach.Read, c.Reach.Write), nil
	p.Reach.Network, p.Reach.Domains = job.NetworkNone, nil
	return &p
}

// right returns the right of a skill to the workspace.
func (c *Sandboxes) right(k *expert.Skill) expert.WorkspaceRight {
	if c.plans && k.Workspace != expert.WorkspaceNone {
		return expert.WorkspaceRead
	}
	return k.Workspace
}

// OnHost returns the sandboxes of programs that run on the user's machine. They have no
// directories yet: see [Sandboxes.Prepare].
func OnHost(all bool) *Sandboxes {
	c := &Sandboxes{All: all, System: landlock.SystemPaths(), OwnListeners: true}
	c.Limit(job.DefaultSandboxLimits())
	return c
}

// Limit sets what programs in each sandbox can use. What all of them add to the disk is limited by
// their supervisor: see [sandbox.Supervisor.LimitDisk].
func (c *Sandboxes) Limit(l job.SandboxLimits) {
	c.MaxTasks, c.MaxMemory, c.MaxFileSize = l.Processes, l.Memory, l.DiskGrowth
}

// Contain reports whether the programs of a skill run in a sandbox.
func (c *Sandboxes) Contain(k *expert.Skill) bool {
	return c != nil && k.UsesSandbox() && (c.All || k.Sandbox.Restricts())
}

// ContainAny reports whether a skill of an Expert runs in a sandbox. Every Expert has the base
// skill, even if it does not declare it.
func (c *Sandboxes) ContainAny(e *expert.Expert) bool {
	_, declared := e.Skill(expert.BaseSkill)
	return slices.ContainsFunc(e.Skills, c.Contain) || c != nil && c.All && !declared
}

// MakeDirs returns the sandboxes with directories to put theirs into, and a function that removes
// these. They must not be in the workspace: a skill with a right to it could read them.
func (c *Sandboxes) MakeDirs(workspace string) (*Sandboxes, func() error, error) {
	full := *c
	if c.Tmp != "" && c.Home != "" {
		return &full, func() error { return nil }, nil
	}
	removeAbandoned(os.TempDir())
	dir, err := os.MkdirTemp("", sandboxesPrefix) // for this user alone
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for sandboxes: %w", err)
	}
	remove := func() error { return policy.RemoveTree(dir) }
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = writeOwner(real)
	}
	full.Tmp = filepath.Join(real, "dirs")
	full.Home = full.Tmp
	if err == nil {
		err = os.Mkdir(full.Tmp, 0o700)
	}
	if err == nil && isBelow(real, workspace) {
		err = fmt.Errorf("the workspace %s contains the directory for temporary files, where all sandboxes have theirs; choose another workspace, or set TMPDIR to a directory outside of it", workspace)
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return &full, remove, nil
}

// isBelow reports whether a path is in a tree, or its top. Both are without links.
func isBelow(path, top string) bool {
	_, ok := userfile.Below(top, path)
	return ok
}

// A skillSandbox is the sandbox of one skill. At level landlock it outlives the programs in it: a
// server that is started again finds the files that it wrote. At level full, home and temporary
// files end with the program, or with the last command.
type skillSandbox struct {
	sandboxes *Sandboxes
	right     expert.WorkspaceRight
	home, tmp string
	name      string // at level full

	current atomic.Pointer[policy.Policy] // of the server that was started last; nil for commands

	mu  sync.Mutex
	end []func() error
}

// atEnd has a function called when no program runs in the sandbox any more.
func (b *skillSandbox) atEnd(f func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = append(b.end, f)
}

// newSandbox makes the directories of a sandbox. All sandboxes of an Expert are made before the
// first program starts: a program could watch for new names.
func (c *Sandboxes) newSandbox(k *expert.Skill) (*skillSandbox, error) {
	if c.full != nil {
		return c.newFull(k, rand.Text()), nil
	}
	b := &skillSandbox{sandboxes: c, right: c.right(k)}
	for _, d := range []struct {
		own    *string
		parent string
	}{{&b.home, c.Home}, {&b.tmp, c.Tmp}} {
		path := filepath.Join(d.parent, "sandbox-"+rand.Text())
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("skill %q: make a directory for its sandbox: %w", k.Name, err), b.remove())
		}
		*d.own = path
	}
	return b, nil
}

// variables adds HOME and TMPDIR, whatever the user has set.
func (b *skillSandbox) variables(others map[string]string) map[string]string {
	if b == nil {
		return others
	}
	all := maps.Clone(others)
	all["HOME"], all["TMPDIR"] = b.home, b.tmp
	return all
}

// policy is what programs in the sandbox can reach: the system, the workspace by their right to
// it, their own directories and files, and the port of their listener.
func (b *skillSandbox) policy(workspace string, programFiles []string, port uint16) *policy.Policy {
	if b.sandboxes.full != nil {
		return b.fullPolicy(workspace, programFiles)
	}
	p := &policy.Policy{
		Level:         expert.SandboxLandlock,
		Workspace:     policy.Workspace{Path: workspace, Right: b.right},
		Read:          slices.Concat(b.sandboxes.System, b.sandboxes.Reach.Read, programFiles),
		Write:         slices.Concat(landlock.WritableDevices(), []string{b.home, b.tmp}, b.sandboxes.Reach.Write),
		FixedMetadata: b.sandboxes.fixedMetadata,
		Limits:        b.sandboxes.limits(),
	}
	if port != 0 {
		p.Ports = []uint16{port}
	}
	return p
}

// confine puts the commands of a base skill into the sandbox. opened lists the directories that the user
// has opened to the next command.
func (b *skillSandbox) confine(o *base.Options, port uint16, opened func(context.Context) []string) {
	workspace := o.Workspace.Path()
	dirs, path := searchPath(o.Environ, b.visible(), b.excluded(workspace))
	o.Sandbox = b.policy(workspace, dirs, port)
	o.Policy = func(ctx context.Context) (*policy.Policy, error) {
		own := *o.Sandbox
		own.Opened = opened(ctx)
		return &own, nil
	}
	if b.sandboxes.full != nil {
		o.Policy = b.commands(o.Policy)
		b.atEnd(func() error { return o.Commands.EndSandbox(b.name) })
	}
	o.Set = b.variables(o.Set)
	o.Set["PATH"] = path
	o.NoPrograms = !slices.ContainsFunc(filepath.SplitList(path), isDir)
	if b.right == expert.WorkspaceNone {
		o.Home = b.home
	}
}

// Confine puts the commands of a base skill that no Expert has into a sandbox of their own,
// which reaches no host. The function removes it, when no command runs any more.
func (c *Sandboxes) Confine(o *base.Options) (remove func() error, err error) {
	k := &expert.Skill{Name: expert.BaseSkill, Type: expert.StdioSkill, BuiltIn: true}
	b, err := c.newSandbox(k)
	if err != nil {
		return nil, err
	}
	if o.Set == nil {
		o.Set = make(map[string]string)
	}
	b.confine(o, 0, func(context.Context) []string { return nil })
	return b.remove, nil
}

// hosts are what programs of a skill can reach through their listener.
func (c *Sandboxes) hosts(k *expert.Skill) []string {
	switch {
	case c.Reach.Network == job.NetworkNone:
		return nil
	case k.IsBase() && k.BuiltIn:
		return slices.Concat(k.AllowedDomains, c.Reach.Domains)
	}
	return k.AllowedDomains
}

// visible is what all programs in the sandbox can read.
func (b *skillSandbox) visible() []string {
	if b.sandboxes.full == nil {
		return b.sandboxes.System
	}
	return slices.Concat(b.sandboxes.System, b.sandboxes.full.toolchains, b.sandboxes.Reach.Read)
}

// remove removes what belongs to the sandbox. No server runs in it any more; commands are ended.
func (b *skillSandbox) remove() error {
	b.mu.Lock()
	end := b.end
	b.end = nil
	b.mu.Unlock()
	var errs []error
	for _, f := range end {
		errs = append(errs, f())
	}
	if b.sandboxes.full == nil {
		errs = append(errs, policy.RemoveTree(b.home), policy.RemoveTree(b.tmp))
	}
	return errors.Join(errs...)
}
