package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace"
)

// A Cover is the workspace as a container gets it: which directory is mounted, who works
// in it, and what in it shows nothing or cannot be changed.
type Cover struct {
	Dir            string   // of the host, without links
	Masked, Frozen []string // paths in the container
	Pinned         []string // directories in the container that cannot be moved away
	UID, GID       int
}

// CoverWorkspace finds out what of the workspace a container must not see: those of the
// protected paths that lie in it, and everything that has the name of an env file.
// Those of readOnly that lie in it are frozen. Both are absolute paths of the host. What git runs
// programs by, in the repositories that are there, is frozen too.
//
// The directories on the way to them are pinned: a program that could move one away could
// put another in its place, with files that the next run would use. A link on the way would
// allow the same, and is refused.
//
// A path that does not exist is named too, for the file tools; but the daemon
// cannot cover it, and it shows what appears there later. So the storage directory has to
// be there before this is called.
func CoverWorkspace(ctx context.Context, dir string, protected, readOnly []string) (Cover, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Cover{}, fmt.Errorf("workspace %q: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return Cover{}, unfit("workspace: %w", err)
	}
	top, err := os.Stat(real)
	if err != nil {
		return Cover{}, fmt.Errorf("workspace: %w", err)
	}
	if !top.IsDir() {
		return Cover{}, unfit("the workspace %s is not a directory", real)
	}
	g := ground{top: top, cover: Cover{Dir: real}}
	if g.cover.UID, g.cover.GID, err = ownerOf(real, top); err != nil {
		return Cover{}, err
	}
	for _, p := range protected {
		if err := g.hide(p); err != nil {
			return Cover{}, err
		}
	}
	found, err := workspace.FindCovered(ctx, real)
	if err != nil {
		return Cover{}, err
	}
	for _, name := range found.Hidden {
		if err := g.hideFound(name); err != nil {
			return Cover{}, err
		}
	}
	for _, name := range found.Git {
		if err := g.freezeGit(name); err != nil {
			return Cover{}, err
		}
	}
	for _, p := range readOnly {
		if err := g.freeze(p); err != nil {
			return Cover{}, err
		}
	}
	for _, paths := range []*[]string{&g.cover.Masked, &g.cover.Frozen, &g.cover.Pinned} {
		slices.Sort(*paths)
		*paths = slices.Compact(*paths)
	}
	return g.cover, nil
}

// A ground is the workspace while it is looked at.
type ground struct {
	top   fs.FileInfo
	cover Cover
}

// hide masks a path of the host, where it really is.
func (g *ground) hide(p string) error {
	if g.isBelow(p) {
		return unfit("the workspace %s is in %s, which must not be visible in the container", g.cover.Dir, p)
	}
	if info, err := os.Stat(p); err == nil && info.IsDir() {
		if err := g.refuseLinks(p); err != nil { // the history; an env file may well be a link
			return err
		}
	}
	names, ok, err := g.place(p)
	if err != nil || !ok {
		return err
	}
	g.pin(names)
	return add(&g.cover.Masked, names)
}

func (g *ground) freeze(p string) error {
	if err := g.refuseLinks(p); err != nil {
		return err
	}
	names, ok, err := g.place(p)
	if err != nil || !ok || len(names) == 0 {
		return err
	}
	g.pin(names)
	return add(&g.cover.Frozen, names)
}

// freezeGit freezes what can make git run a program, in a repository that was found: a
// directory, or a file that names one. What does not exist cannot be frozen, and a link could be
// replaced: the end of the run names those that changed.
func (g *ground) freezeGit(repository string) error {
	if g.isLink(repository) {
		return nil
	}
	files := []string{""}
	if info, err := os.Lstat(g.at(repository)); err == nil && info.IsDir() {
		files = []string{"config", "config.worktree", "hooks", "info/attributes", "commondir"}
	}
	for _, file := range files {
		name := path.Join(repository, file)
		if _, err := os.Lstat(g.at(name)); err != nil || g.isLink(name) || g.isLink(path.Dir(name)) {
			continue
		}
		names := strings.Split(name, "/")
		g.pin(names)
		if err := add(&g.cover.Frozen, names); err != nil {
			return err
		}
	}
	return nil
}

// at is a path of the workspace on the host.
func (g *ground) at(name string) string { return filepath.Join(g.cover.Dir, filepath.FromSlash(name)) }

func (g *ground) isLink(name string) bool {
	info, err := os.Lstat(g.at(name))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// pin keeps the directories on the way to a path where they are.
func (g *ground) pin(names []string) {
	for i := 1; i < len(names); i++ {
		dir := path.Join(names[:i]...)
		if info, err := os.Lstat(g.at(dir)); err == nil && info.IsDir() {
			g.cover.Pinned = append(g.cover.Pinned, path.Join(workDir, dir))
		}
	}
}

// refuseLinks refuses a path that a link in the workspace is part of: a program in the
// container could point it elsewhere.
func (g *ground) refuseLinks(p string) error {
	for at := range upwards(filepath.Clean(p)) {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if _, inside, err := g.place(filepath.Dir(at)); err != nil || inside {
			return errors.Join(err, &WorkspaceError{Link: at,
				Err: fmt.Errorf("%s is a link in the workspace, and a program in the container could point it elsewhere", at)})
		}
	}
	return nil
}

// upwards yields a path and all directories above it.
func upwards(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at, below := p, ""; at != below && yield(at); {
			at, below = filepath.Dir(at), at
		}
	}
}

// hideFound masks what has the name of an env file. What a link leads to is hidden if it
// is a file in the workspace. A link to a directory is left: one that leads to the
// workspace itself would hide all of it, and any repository can bring one.
func (g *ground) hideFound(name string) error {
	p := g.at(name)
	info, err := os.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) { // it was removed
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return add(&g.cover.Masked, []string{name})
	}
	target, err := os.Stat(p)
	if err != nil || target.IsDir() {
		return nil
	}
	names, ok, err := g.place(p)
	if err != nil || !ok {
		return err
	}
	return add(&g.cover.Masked, names)
}

// place returns the names that lead from the workspace to where a path really is, and
// whether it is in the workspace. It goes up from there until it meets the workspace
// itself, so that spellings do not matter: letter case, links, mounts.
func (g *ground) place(p string) (names []string, ok bool, err error) {
	if !filepath.IsAbs(p) {
		return nil, false, fmt.Errorf("%q is not an absolute path", p)
	}
	real := ""
	for at := range upwards(filepath.Clean(p)) {
		if real, err = filepath.EvalSymlinks(at); err == nil {
			break
		}
		if !userfile.Absent(err) {
			return nil, false, fmt.Errorf("look at what must be hidden: %w", err)
		}
		// A link that leads nowhere here may lead somewhere in the container.
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, false, nil
		}
		names = append(names, filepath.Base(at))
	}
	if err != nil {
		return nil, false, nil
	}
	for at := range upwards(real) {
		info, err := os.Lstat(at)
		if err != nil {
			return nil, false, fmt.Errorf("look at what must be hidden: %w", err)
		}
		if os.SameFile(info, g.top) {
			slices.Reverse(names)
			return names, true, nil
		}
		names = append(names, filepath.Base(at))
	}
	return nil, false, nil
}

// isBelow reports whether the workspace is the directory p, or lies in it.
func (g *ground) isBelow(p string) bool {
	info, err := os.Stat(p)
	if err != nil {
		return false
	}
	for at := range upwards(g.cover.Dir) {
		if here, err := os.Lstat(at); err == nil && os.SameFile(here, info) {
			return true
		}
	}
	return false
}

// add takes the path in, as the container has it.
func add(to *[]string, names []string) error {
	p := path.Join(workDir, path.Join(names...))
	if !utf8.ValidString(p) {
		// The daemon would be told of another name, and hide nothing.
		return fmt.Errorf("%q has to be hidden, and its path is not UTF-8; rename it", p)
	}
	*to = append(*to, p)
	return nil
}

// refuseSocket refuses a workspace with the daemon's socket in it, such as / or, for some
// daemons, the home directory. A program that reaches the socket can start a
// container without isolation.
func (d *Daemon) refuseSocket(dir string) error {
	top, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is nothing to reach, and the daemon refuses it
	}
	if err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	g := ground{top: top}
	for _, host := range []string{d.Host, api.DefaultHost} {
		socket, ok := strings.CutPrefix(host, "unix://")
		if !ok {
			continue
		}
		_, inside, err := g.place(socket)
		if err != nil {
			return err
		}
		if inside {
			return unfit("the workspace %s holds the socket of the Docker daemon, %s: a program that reaches it can do anything on this machine", dir, socket)
		}
	}
	return nil
}

// unprivileged refuses root. A group that is root's becomes one of the user's own: files
// of the system are often open to it.
func unprivileged(dir string, uid, gid int) (int, int, error) {
	switch {
	case uid != 0:
	case isSystem(dir):
		return 0, 0, unfit("the workspace %s belongs to root, and nothing in the container runs as root", dir)
	default:
		return 0, 0, unfit("the workspace %s belongs to root, and nothing in the container runs as root; give it to a user with: chown -R USER %s", dir, terminal.ShellJoin(dir))
	}
	if gid == 0 {
		gid = uid
	}
	return uid, gid, nil
}

// isSystem reports whether a directory belongs to the system, so that its owner must not
// change: a directory directly below the root, and everything below some of those.
func isSystem(dir string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(dir), "/"), "/")
	return rest == "" || slices.Contains([]string{"bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "usr", "var"}, first)
}
