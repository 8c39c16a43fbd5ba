package evil

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// HuntOptions say what a hunt looks for.
type HuntOptions struct {
	// Marker is a part of the secrets that the test planted. What contains it is
	// repeated in full; everything else that looks like a secret is only counted, so
	// that a hunt on somebody's machine tells nothing.
	Marker string
	Dir    string // where to begin; the working directory if empty
	Home   string // whose keys to look for; none if empty

	// Levels is how far up the hunt goes, from a process to its parent; 2 if it is 0:
	// a skill, the supervisor, perstack. Beside those it looks at what they started.
	Levels int
	// Everywhere looks at all processes. It is for a machine that has no others than
	// those of the test.
	Everywhere bool
}

// A Find is one place where a hunt looked.
type Find struct {
	Place   string   `json:"place"`             // such as /proc/12/environ
	Who     string   `json:"who,omitzero"`      // self, parent, ancestor or other, for processes
	Secrets int      `json:"secrets"`           // names or lines that look like secrets
	Planted []string `json:"planted,omitempty"` // what contains the marker
	Error   string   `json:"error,omitzero"`    // denied, absent or the words of the system
}

// Hunt looks for secrets where programs of the same user find them: env files of this
// directory and those above, keys in the home directory and, on Linux, in the environment, the command
// line, the open files and the memory of the processes around it.
func Hunt(ctx context.Context, o HuntOptions) []Find {
	h := &hunter{ctx: ctx, marker: o.Marker}
	h.environment()
	h.envFiles(o.Dir)
	h.home(o.Home)
	h.processes(cmp.Or(o.Levels, 2), o.Everywhere)
	return h.found
}

type hunter struct {
	ctx    context.Context
	marker string
	found  []Find
}

// maxLoot bounds what is read of one file.
const maxLoot = 1 << 20

// environment is that of this process: what it was given.
func (h *hunter) environment() {
	h.search(Find{Place: "environment", Who: "self"}, []byte(strings.Join(os.Environ(), "\x00")))
}

// envFiles looks in a directory and in all above it.
func (h *hunter) envFiles(dir string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		h.found = append(h.found, Find{Place: ".", Error: reason(err)})
		return
	}
	for {
		for _, name := range []string{".env", ".env.local", ".env.production", ".npmrc", "perstack/jobs"} {
			h.file(filepath.Join(dir, filepath.FromSlash(name)), "")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return
		}
		dir = parent
	}
}

// home looks where programs keep the keys of a user.
func (h *hunter) home(dir string) {
	if dir == "" {
		return
	}
	for _, name := range []string{".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
		".config/gh/hosts.yml", ".docker/config.json", ".kube/config", ".bash_history"} {
		h.file(filepath.Join(dir, filepath.FromSlash(name)), "")
	}
}

// file searches one file. A missing file is not reported: most of them are missing.
func (h *hunter) file(path, who string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && info.IsDir():
		h.found = append(h.found, Find{Place: path, Who: who})
		return
	case err == nil && !info.Mode().IsRegular():
		return // a pipe would make us wait
	}
	h.read(path, who)
}

// read searches what the system calls a file, as those below /proc.
func (h *hunter) read(path, who string) {
	f, err := os.Open(path)
	if err != nil {
		h.found = append(h.found, Find{Place: path, Who: who, Error: reason(err)})
		return
	}
	defer f.Close()
	loot, err := io.ReadAll(io.LimitReader(f, maxLoot))
	find := Find{Place: path, Who: who}
	if err != nil {
		find.Error = reason(err)
	}
	h.search(find, loot)
}

// search counts what looks like a secret and repeats what the test planted.
func (h *hunter) search(find Find, loot []byte) {
	for _, line := range bytes.FieldsFunc(loot, func(r rune) bool { return r == 0 || r == '\n' }) {
		if h.marker != "" && bytes.Contains(line, []byte(h.marker)) && len(find.Planted) < 20 {
			find.Planted = append(find.Planted, strings.ToValidUTF8(string(line[:min(len(line), 400)]), "?"))
		}
		name, _, _ := strings.Cut(strings.ToUpper(string(line[:min(len(line), 100)])), "=")
		if slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"}, func(part string) bool { return strings.Contains(name, part) }) {
			find.Secrets++
		}
	}
	h.found = append(h.found, find)
}

// reason is an error without the path, which Place has.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "denied"
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	}
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return wrapped.Error()
	}
	return err.Error()
}
