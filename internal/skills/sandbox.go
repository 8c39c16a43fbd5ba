package skills

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
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
	// MaxTasks is how many processes and threads a sandbox can have; 0 means no limit.
	MaxTasks int
}

// hostTasks is more than a build on all processors needs, and few enough to be killed quickly.
const hostTasks = 2000

// OnHost returns the sandboxes of programs that run on the user's machine. They have no
// directories yet: see [Sandboxes.MakeDirs].
func OnHost(all bool) *Sandboxes {
	return &Sandboxes{All: all, System: landlock.SystemPaths(), OwnListeners: true, MaxTasks: hostTasks}
}

// Contain reports whether the programs of a skill run in a sandbox.
func (c *Sandboxes) Contain(k *expert.Skill) bool {
	return c != nil && k.StartsPrograms() && (c.All || k.Sandbox == expert.SandboxLandlock)
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
	remove := func() error { return removeTree(dir) }
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
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// A skillSandbox is the sandbox of one skill. It outlives the programs in it: a server that is
// started again finds the files that it wrote.
type skillSandbox struct {
	sandboxes *Sandboxes
	right     expert.WorkspaceRight
	home, tmp string
}

// newSandbox makes the directories of a sandbox. All sandboxes of an Expert are made before the
// first program starts: a program could watch for new names.
func (c *Sandboxes) newSandbox(k *expert.Skill) (*skillSandbox, error) {
	b := &skillSandbox{sandboxes: c, right: k.Workspace}
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
func (b *skillSandbox) policy(workspace string, programFiles []string, port uint16) *landlock.Policy {
	p := &landlock.Policy{Write: append(landlock.WritableDevices(), b.home, b.tmp), MaxTasks: b.sandboxes.MaxTasks}
	p.Read = append(append(p.Read, b.sandboxes.System...), programFiles...)
	switch b.right {
	case expert.WorkspaceRead:
		p.Read = append(p.Read, workspace)
	case "", expert.WorkspaceWrite:
		p.Write = append(p.Write, workspace)
	default: // none, or an unknown right
	}
	if port != 0 {
		p.Ports = []uint16{port}
	}
	return p
}

// remove removes the directories. No program runs in the sandbox any more.
func (b *skillSandbox) remove() error {
	return errors.Join(removeTree(b.home), removeTree(b.tmp))
}
