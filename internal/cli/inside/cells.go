package inside

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/sandbox/cell"
	"github.com/perstack-go/perstack/internal/skills"
)

// Where the container has room that is written to.
const (
	tmpDir  = "/tmp"
	homeDir = "/home/perstack"
)

// cells are those of all skills: in a container, each has one. What an image brings may be
// read by all, wherever it is; what is not of the image is left out, and so is what
// belongs to one skill.
func (w *work) cells() *skills.Cells {
	if w.document.Confines.SharedCell {
		return nil
	}
	c := &skills.Cells{All: true, Tmp: cmp.Or(w.opts.Tmp, tmpDir), Home: cmp.Or(w.opts.Home, homeDir), MaxTasks: maxTasks("/sys/fs/cgroup")}
	apart := []string{
		"/proc", "/sys", "/dev", "/tmp", "/home", "/root", "/run", "/var/run", "/workspace", "/skills", "/perstack",
		w.document.Work.Dir, c.Tmp, c.Home,
	}
	if dir := w.document.Confines.Packages; dir != "" {
		apart = append(apart, dir)
	}
	c.System = append(cell.System(), allBut("/", apart)...)
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
		return nil // nobody else can read it either
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
