package inside

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
)

// Where the container can be written to.
const (
	tmpDir  = "/tmp"
	homeDir = "/home/perstack"
)

// container says where things are in the container. What an image brings can be read by
// all skills, wherever it is; what is not of the image is left out, and so is what belongs
// to one skill.
func (w *work) container() *engine.Container {
	at, secrets := w.document.Addresses, w.document.Secrets
	c := &engine.Container{
		Workspace: at.Workspace, Hidden: at.Hidden, ReadOnly: at.ReadOnly,
		Proxy: secrets.Proxy, Proxies: secrets.Proxies,
		Authorities: at.Roots, Packages: at.Packages, Data: at.Data,
		Tmp: cmp.Or(w.opts.tmp, tmpDir), Home: cmp.Or(w.opts.home, homeDir), MaxTasks: maxTasks("/sys/fs/cgroup"),
		Env: secrets.Env,
	}
	apart := []string{
		"/proc", "/sys", "/dev", "/tmp", "/home", "/root", "/run", "/var/run", "/workspace", "/skills", "/perstack",
		at.Workspace, c.Tmp, c.Home,
	}
	for _, dir := range []string{at.Packages, at.Data} {
		if dir != "" {
			apart = append(apart, dir)
		}
	}
	c.System = append(landlock.SystemPaths(), allBut("/", apart)...)
	return c
}

// maxTasks is three quarters of the processes and threads that the container may have: one
// skill must not be able to take them all, and a server that runs in Node alone has a dozen.
func maxTasks(cgroup string) int {
	const usual = 256 // of the container, if the kernel does not say
	for _, name := range []string{"pids.max", "pids/pids.max"} {
		text, err := os.ReadFile(filepath.Join(cgroup, name))
		if n, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil && n > 1 {
			return n * 3 / 4
		}
	}
	return usual * 3 / 4
}

// allBut lists the directories of a tree that have none of some paths in them: as few as
// possible, as high as possible. Links are left out: what they lead to stands for itself.
func allBut(dir string, apart []string) (dirs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // no skill can read it either
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir() || slices.Contains(apart, path):
		case slices.ContainsFunc(apart, func(p string) bool { return strings.HasPrefix(p, path+string(filepath.Separator)) }):
			dirs = append(dirs, allBut(path, apart)...)
		default:
			dirs = append(dirs, path)
		}
	}
	return dirs
}
