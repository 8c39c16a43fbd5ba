package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// modes checks that other users cannot read or write files with keys, nor answers that allow
// something.
func (x *examination) modes() []Check {
	c := Check{ID: "files.modes", Title: "private files", Status: OK}
	if runtime.GOOS == "windows" {
		c.Status, c.Detail = Info, "file modes say nothing on this system"
		return []Check{c}
	}
	var open []string
	seen := 0
	for _, path := range x.privateFiles() {
		info, err := os.Stat(path)
		if err != nil {
			continue // it does not exist; a directory that cannot be read is reported with the state
		}
		if !info.IsDir() {
			seen++
		}
		if info.Mode().Perm()&0o077 != 0 {
			open = append(open, path)
		}
	}
	switch {
	case len(open) > 0:
		c.Status, c.Detail = Fail, "other users have rights to "+strings.Join(open, ", ")
		c.Fix = "chmod go= " + terminal.ShellJoin(open...)
	case seen == 0:
		c.Status, c.Detail = Info, "there are none yet"
	default:
		c.Detail = "other users have no rights to " + wording.Count(seen, "file")
	}
	return []Check{c}
}

func (x *examination) privateFiles() (paths []string) {
	if dir, err := x.host.StateDir(); err == nil {
		paths = append(paths, string(dir), dir.KeyFile())
		if p, err := dir.Project(x.projectDir()); err == nil {
			paths = append(paths, filepath.Join(p.State, "consent.json"))
		}
	}
	if config := x.host.UserConfigPath(); config != "" {
		paths = append(paths, filepath.Join(filepath.Dir(config), "credentials.json"))
	}
	if values, err := x.values(); err == nil {
		if path := values.Get(model.CredentialsEnv); path != "" {
			paths = append(paths, x.host.Path(path))
		}
	}
	return paths
}

// projectDir is the directory that the history of a run here would belong to.
func (x *examination) projectDir() string {
	if p := x.project(); p.err == nil {
		return filepath.Dir(p.path)
	}
	return x.host.Dir
}

// minFree is how much space a history needs at least.
const minFree = 100 << 20

// state checks the directory that holds the history and the keys.
func (x *examination) state() (all []Check) {
	c := Check{ID: "state", Title: "state directory", Status: OK}
	dir, err := x.host.StateDir()
	if err != nil {
		c.Status, c.Detail, c.Fix = Fail, err.Error(), "set HOME"
		return []Check{c}
	}
	c.Detail = string(dir)
	at := existing(string(dir))
	if at != string(dir) {
		c.Detail += " does not exist yet"
	}
	if err := writable(at); err != nil {
		c.Status, c.Detail = Fail, string(dir)+" cannot be used: "+at+" cannot be written: "+err.Error()
		c.Fix = "make it yours, or set XDG_STATE_HOME to a directory that you can write to"
		return []Check{c}
	}
	all = append(all, c)
	if free, ok := freeSpace(at); ok {
		space := Check{ID: "state.space", Title: "free space", Status: OK, Detail: byteText(free) + " for the history"}
		if free < minFree {
			space.Status, space.Detail = Fail, "only "+byteText(free)+" are free for the history"
			space.Fix = "free at least 100 MB on the file system of " + terminal.ShellJoin(at)
		}
		all = append(all, space)
	}
	return append(all, sealKey(dir), lockFiles(dir))
}

func sealKey(dir state.Dir) Check {
	c := Check{ID: "state.key", Title: "seal key", Status: OK, Detail: dir.KeyFile()}
	switch keys, err := dir.ReadKeys(); {
	case err != nil:
		c.Status, c.Detail, c.Fix = Fail, err.Error(), "restore "+terminal.ShellJoin(dir.KeyFile())+", or move it away to begin with a new key"
	case len(keys) == 0:
		c.Status, c.Detail = Info, "there is none yet; the first run makes it"
	}
	return c
}

// lockFiles looks for the lock of a command that was killed. The locks of jobs are those of the
// kernel, and end with their process.
func lockFiles(dir state.Dir) Check {
	c := Check{ID: "state.locks", Title: "locks", Status: OK, Detail: "none is left over"}
	lock := dir.KeyFile() + ".new"
	if _, err := os.Lstat(lock); err == nil {
		c.Status, c.Detail = Warn, lock+" exists: a command that makes a new key runs, or was killed"
		c.Fix = "if none runs: rm " + terminal.ShellJoin(lock)
	}
	return c
}

// existing returns a directory, or the nearest one above it that exists.
func existing(dir string) string {
	for range maxDepth {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// writable makes a directory below another one, and removes it.
func writable(dir string) error {
	made, err := os.MkdirTemp(dir, ".perstack-doctor-")
	if err != nil {
		return cause(err)
	}
	return cause(os.Remove(made))
}
