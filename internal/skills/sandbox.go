package skills

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
)

// Sandboxes says how the programs of skills are locked in.
type Sandboxes struct {
	// All puts every program into a sandbox; otherwise those of skills that ask for it.
	All bool
	// System is what all programs may read: see [landlock.SystemPaths].
	System []string
	// Tmp and Home are directories in which each sandbox gets one of its own, by a name that
	// nobody can guess: another program cannot list it, but could name it.
	Tmp, Home string
	// OwnListeners opens a proxy in this process, with a listener for each skill that is locked in
	// and no other way out. It is for runtimes that have no proxy.
	OwnListeners bool
	// MaxTasks is how many processes and threads a sandbox may have; 0 means that nobody counts.
	MaxTasks int
}

// machineTasks is more than a build with all processors needs, and less than what makes a
// machine slow to kill it.
const machineTasks = 2000

// Machine returns the sandboxes of a machine that is the user's own: with what its programs
// need, and listeners of our own. It has no directories yet: see [Sandboxes.Furnish].
func Machine(all bool) *Sandboxes {
	return &Sandboxes{All: all, System: landlock.SystemPaths(), OwnListeners: true, MaxTasks: machineTasks}
}

// Lock reports whether the sandboxes lock a skill in.
func (c *Sandboxes) Lock(k *expert.Skill) bool {
	return c != nil && k.StartsPrograms() && (c.All || k.Sandbox == expert.SandboxLandlock)
}

// LockAny reports whether the sandboxes lock a skill of an Expert in. One that does not mention
// the base skill has it all the same.
func (c *Sandboxes) LockAny(e *expert.Expert) bool {
	if c == nil {
		return false
	}
	for _, k := range e.Skills {
		if c.Lock(k) {
			return true
		}
	}
	_, declared := e.Skill(expert.BaseSkill)
	return c.All && !declared
}

// Furnish returns the sandboxes with directories to put theirs into, and what removes these.
// Directories of a machine must not lie in the workspace: who may read that could read
// what all sandboxes have there.
func (c *Sandboxes) Furnish(workspace string) (*Sandboxes, func() error, error) {
	full := *c
	if c.Tmp != "" && c.Home != "" {
		return &full, func() error { return nil }, nil
	}
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", sandboxesPrefix) // for this user alone
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for sandboxes: %w", err)
	}
	remove := func() error { return removeTree(dir) }
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = sign(real)
	}
	rooms := filepath.Join(real, "rooms")
	if err == nil {
		err = os.Mkdir(rooms, 0o700)
	}
	if err == nil && isBelow(real, workspace) {
		err = fmt.Errorf("the workspace %s has the directory for temporary files in it, where all sandboxes have theirs; choose another workspace, or set TMPDIR to a directory outside of it", workspace)
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	full.Tmp, full.Home = rooms, rooms
	return &full, remove, nil
}

// isBelow reports whether a path is in a tree, or its top. Both are without links.
func isBelow(path, top string) bool {
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// A room is what the sandbox of one skill has to itself. It outlives the programs in it: a
// server that is started again finds what it kept.
type room struct {
	sandboxes *Sandboxes
	right     expert.WorkspaceRight
	home, tmp string
}

// furnish makes the directories of a sandbox. All sandboxes of an Expert are made before the first
// program starts: it could watch for names that are new.
func (c *Sandboxes) furnish(k *expert.Skill) (*room, error) {
	r := &room{sandboxes: c, right: k.Workspace}
	for _, d := range []struct {
		own   *string
		among string
	}{{&r.home, c.Home}, {&r.tmp, c.Tmp}} {
		path := filepath.Join(d.among, "sandbox-"+rand.Text())
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("skill %q: make a directory for its sandbox: %w", k.Name, err), r.remove())
		}
		*d.own = path
	}
	return r, nil
}

// decide adds to variables where the directories are, which nobody else says.
func (r *room) decide(variables map[string]string) map[string]string {
	if r == nil {
		return variables
	}
	all := map[string]string{}
	maps.Copy(all, variables)
	all["HOME"], all["TMPDIR"] = r.home, r.tmp
	return all
}

// workDir is where programs start: who has no right to the workspace starts at home.
func (r *room) workDir(workspace string) string {
	if r != nil && r.right == expert.WorkspaceNone {
		return r.home
	}
	return workspace
}

// sandbox is what programs in the room can reach: the system, the workspace as far as they
// may, their own directories, what they are made of, and the port of their own listener.
func (r *room) sandbox(workspace string, made []string, port uint16) *landlock.Policy {
	c := &landlock.Policy{Write: append(landlock.WritableDevices(), r.home, r.tmp), MaxTasks: r.sandboxes.MaxTasks}
	c.Read = append(append(c.Read, r.sandboxes.System...), made...)
	switch r.right {
	case expert.WorkspaceRead:
		c.Read = append(c.Read, workspace)
	case "", expert.WorkspaceWrite:
		c.Write = append(c.Write, workspace)
	default: // none, and what nobody has heard of
	}
	if port != 0 {
		c.Ports = []uint16{port}
	}
	return c
}

// remove removes the directories with all that is in them. Nobody may be in the room.
func (r *room) remove() error {
	var errs []error
	for _, dir := range []string{r.home, r.tmp} {
		if dir != "" {
			errs = append(errs, removeTree(dir))
		}
	}
	return errors.Join(errs...)
}
