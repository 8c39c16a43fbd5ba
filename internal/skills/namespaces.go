package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/job"
)

// A Machine is what sandboxes of level full take from the machine of the user, and what they
// keep from programs.
type Machine struct {
	Environ []string
	Dir     string   // where relative paths start
	State   string   // the state of perstack, which no sandbox shows
	Caches  string   // where changes of caches are kept for the project; empty for no caches
	Hide    []string // whole paths: programs cannot read those in the workspace
	Frozen  []string // whole paths: programs cannot change those in the workspace
	Private []string // whole paths of perstack, which the user is not asked to open
	Now     func() time.Time
	Log     *slog.Logger
}

// namespaces are what all sandboxes of level full of a job have in common.
type namespaces struct {
	workspace  string
	places     policy.Places
	toolchains []string
	files      func() map[string]string       // small files in the home directory
	caches     func() ([]policy.Cache, error) // without Work
	// write are git directories outside the workspace. They stay the same for the job: commands
	// share a sandbox, and one with other directories would be another.
	write []string
	log   *slog.Logger

	now    func() time.Time
	search func(context.Context) (*policy.Protected, error)
	mu     sync.Mutex
	found  *policy.Protected
	when   time.Time
}

// searchAgain is how old the list of protected files can be when a program starts.
const searchAgain = 30 * time.Second

const maxGitConfig = 64 << 10

// Prepare returns the sandboxes at a level, and a function that removes what they leave.
func (c *Sandboxes) Prepare(ctx context.Context, level expert.SandboxLevel, workspace string, m Machine) (*Sandboxes, func() error, error) {
	if err := c.checkState(level, m); err != nil {
		return nil, nil, err
	}
	own := *c
	own.Reach.Read, own.Reach.Write = outside(workspace, c.Reach.Read), outside(workspace, c.Reach.Write)
	own.places = policy.NewPlaces(sandbox.Variable(m.Environ, "HOME"), m.State, m.Dir, m.Environ)
	own.private = policy.Private{Workspace: workspace, Dirs: slices.Concat(m.Hide, m.Private, []string{m.Caches}), Environ: m.Environ}
	if level != expert.SandboxFull {
		return own.MakeDirs(workspace)
	}
	full, err := own.inNamespaces(ctx, workspace, m)
	return full, func() error { return nil }, err
}

// inNamespaces returns the sandboxes at level full. It searches the workspace for what has to be
// protected, so that a workspace which is too large is refused before anything starts.
func (c *Sandboxes) inNamespaces(ctx context.Context, workspace string, m Machine) (*Sandboxes, error) {
	home, places := sandbox.Variable(m.Environ, "HOME"), c.places
	if _, err := places.CheckWorkspace(workspace); err != nil {
		return nil, err
	}
	n := &namespaces{
		workspace:  workspace,
		places:     places,
		toolchains: policy.Toolchains(places, workspace, sandbox.Variable(m.Environ, "PATH")),
		// Not before the first program: most runs start none.
		caches: sync.OnceValues(func() ([]policy.Cache, error) {
			return policy.Caches(places, workspace, m.Environ, c.Reach.Caches, m.Caches)
		}),
		files: func() map[string]string { return nil },
		now:   m.Now,
		log:   m.Log,
		search: func(ctx context.Context) (*policy.Protected, error) {
			return policy.Search(ctx, workspace, policy.Options{
				Places: places, Hide: slices.Concat(c.Reach.Hide, below(workspace, m.Hide)), Protect: c.Reach.Protect, Programs: m.Frozen,
			})
		},
	}
	if filepath.IsAbs(home) {
		n.places.Home = realPath(home)
		n.files = sync.OnceValue(func() map[string]string {
			return gitConfig(n.places.Home, sandbox.Variable(m.Environ, "XDG_CONFIG_HOME"))
		})
	}
	found, err := n.protected(ctx)
	if err != nil {
		return nil, err
	}
	n.write = found.Write
	full := *c
	full.full = n
	return &full, nil
}

// checkState refuses a state directory in a tree that all programs read. It has the key that seals
// the history. At level full, an empty directory takes the place of the user's home, with what is in it.
func (c *Sandboxes) checkState(level expert.SandboxLevel, m Machine) error {
	state, home := realPath(m.State), sandbox.Variable(m.Environ, "HOME")
	if m.State == "" || level == expert.SandboxFull && filepath.IsAbs(home) && isBelow(state, realPath(home)) {
		return nil
	}
	for _, tree := range c.System {
		if isBelow(state, realPath(tree)) {
			return fmt.Errorf("the state directory of perstack, %s, is in %s, which all programs in a sandbox can read; choose another with XDG_STATE_HOME", m.State, tree)
		}
	}
	return nil
}

// outside returns those of some paths that are not in the workspace. There, the right of each skill
// decides: a path that a project file names would be open without what protects the workspace.
func outside(workspace string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return isBelow(path, realPath(workspace)) })
}

// below returns those of some paths that are in a directory.
func below(dir string, paths []string) (in []string) {
	for _, path := range paths {
		if isBelow(realPath(path), dir) {
			in = append(in, realPath(path))
		}
	}
	return in
}

// gitConfig returns the part of the user's git configuration that programs see.
func gitConfig(home, config string) map[string]string {
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	for _, path := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config")} {
		if content, err := userfile.Read(path, maxGitConfig); err == nil {
			return map[string]string{filepath.Join(home, ".gitconfig"): policy.GitConfig(content)}
		}
	}
	return nil
}

// protected returns what has to be protected in the workspace, from a search that is not old.
func (n *namespaces) protected(ctx context.Context) (*policy.Protected, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.found != nil && n.now().Sub(n.when) < searchAgain && !n.haveAppeared(n.found.Missing) {
		return n.found, nil
	}
	found, err := n.search(ctx)
	if err != nil {
		return nil, err
	}
	n.found, n.when = found, n.now()
	return found, nil
}

// haveAppeared reports whether one of some paths exists that a search has missed. Most jobs have
// such paths: env files that could be there, and their own history.
func (n *namespaces) haveAppeared(missing []string) bool {
	return slices.ContainsFunc(missing, func(path string) bool {
		if !filepath.IsAbs(path) {
			path = filepath.Join(n.workspace, path)
		}
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist) // what cannot be told counts
	})
}

// fullPolicy is what programs in a sandbox of level full can reach: the system, toolchains, the
// workspace by their right to it, and their own files. What the first program needs is added by
// protect.
func (b *skillSandbox) fullPolicy(workspace string, programFiles []string) *policy.Policy {
	n, reach := b.sandboxes.full, b.sandboxes.Reach
	return &policy.Policy{
		Level:       expert.SandboxFull,
		Name:        b.name,
		Workspace:   policy.Workspace{Path: workspace, Right: b.right},
		Read:        slices.Concat(n.toolchains, reach.Read, programFiles),
		Write:       slices.Clone(reach.Write),
		Home:        n.places.Home,
		Listener:    b.hasListener(),
		HostNetwork: reach.Network == job.NetworkHost,
		Limits:      b.sandboxes.limits(),
	}
}

// hasListener reports whether a sandbox of level full has a listener, by which its programs reach
// hosts.
func (b *skillSandbox) hasListener() bool {
	return b.sandboxes.OwnListeners && b.sandboxes.Reach.Network != job.NetworkNone && b.sandboxes.Reach.Network != job.NetworkHost
}

// protect adds the small files, and what is protected in the workspace now.
func (b *skillSandbox) protect(ctx context.Context, p *policy.Policy) (*policy.Policy, error) {
	n := b.sandboxes.full
	if n == nil {
		return p, nil
	}
	all := *p
	all.Files = n.files()
	if !p.Workspace.CanRead() {
		return &all, nil
	}
	found, err := n.protected(ctx)
	if err != nil {
		return nil, err
	}
	all.Hidden, all.Frozen, all.Pinned = n.visible(found.Hidden), n.visible(found.Frozen), n.visible(found.Pinned)
	if p.Workspace.CanWrite() {
		all.Write = slices.Concat(p.Write, n.write)
	} else { // what can only be read needs no protection, but a policy can hide nothing in it
		all.Read = slices.Concat(p.Read, slices.DeleteFunc(slices.Clone(n.write), func(dir string) bool { return containsAny(dir, all.Hidden) }))
		for _, paths := range []*[]string{&all.Hidden, &all.Frozen, &all.Pinned} {
			*paths = slices.DeleteFunc(*paths, filepath.IsAbs)
		}
	}
	return &all, nil
}

// visible returns those of some protected paths that are in the workspace or in write.
func (n *namespaces) visible(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return filepath.IsAbs(path) && !inAny(path, n.write) })
}

// commands returns the policy of the next command, from what it can reach besides caches. Commands for
// which other directories were opened have another sandbox, and so other caches.
func (b *skillSandbox) commands(reach func(context.Context) (*policy.Policy, error)) func(context.Context) (*policy.Policy, error) {
	type taken struct {
		caches []policy.Cache
		err    error
	}
	var mu sync.Mutex
	slots := make(map[string]taken) // by the directories that were opened
	return func(ctx context.Context) (*policy.Policy, error) {
		p, err := reach(ctx)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		key := strings.Join(p.Opened, "\x00")
		slot, ok := slots[key]
		if !ok {
			slot.caches, slot.err = b.takeCaches(ctx)
			slots[key] = slot
		}
		mu.Unlock()
		if slot.err != nil {
			return nil, slot.err
		}
		p.Caches = slot.caches
		return b.protect(ctx, p)
	}
}

// takeCaches takes caches for one sandbox of commands, until no program runs in it any more.
func (b *skillSandbox) takeCaches(ctx context.Context) ([]policy.Cache, error) {
	if b.sandboxes.plans { // what is in a cache changes later commands
		return nil, nil
	}
	caches, err := b.sandboxes.full.caches()
	if err != nil {
		return nil, err
	}
	slot, err := policy.Prepare(context.WithoutCancel(ctx), caches)
	if errors.Is(err, policy.ErrSlots) {
		b.sandboxes.full.log.Warn("commands have no caches", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b.atEnd(slot.Release)
	return slot.Caches, nil
}

// serve returns a function that serves the listener of a new sandbox with the hosts of a skill.
func (s *set) serve(k *expert.Skill, b *skillSandbox) func(net.Listener) {
	return func(socket net.Listener) {
		ended := make(chan struct{})
		b.atEnd(func() error { <-ended; return nil })
		listener := egress.Listener{Name: s.expert.Key + " " + k.Name, Allow: b.sandboxes.hosts(k)}
		proxy, err := egress.Take(socket, listener, egress.ProxyOptions{Report: s.reportAccess, Ask: s.leaving()})
		if err != nil { // the hosts were checked when the Expert was
			_ = socket.Close()
			close(ended)
			s.site.Parts.Log.Error("the proxy of a sandbox cannot be opened: its programs cannot reach the network", "error", err)
			return
		}
		go func() {
			defer close(ended)
			if err := proxy.Serve(context.WithoutCancel(s.ctx)); !errors.Is(err, net.ErrClosed) {
				s.site.Parts.Log.Error("the proxy of a sandbox failed: its programs can no longer reach the network", "error", err)
			}
		}()
	}
}

// The limits of each process, which protect other processes of the user.
const (
	maxOpenFiles = 4096
	maxSignals   = 1024
)

// limits are those of the programs in one sandbox.
func (c *Sandboxes) limits() policy.Limits {
	return policy.Limits{Tasks: c.MaxTasks, Memory: c.MaxMemory, FileSize: c.MaxFileSize, OpenFiles: maxOpenFiles, Signals: maxSignals}
}

// tmpInside is where programs at level full have their temporary files.
const tmpInside = "/tmp"

// newFull makes a sandbox of level full. It needs no directories of the machine.
func (c *Sandboxes) newFull(k *expert.Skill, name string) *skillSandbox {
	return &skillSandbox{sandboxes: c, right: c.right(k), name: name, home: c.full.places.Home, tmp: tmpInside}
}
