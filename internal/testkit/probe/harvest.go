package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// safeVariables are those that a command gets.
var safeVariables = strings.Fields("PATH HOME SHELL TERM LANG LC_ALL TZ TMPDIR PWD HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy " +
	"NODE_USE_ENV_PROXY npm_config_update_notifier NODE_EXTRA_CA_CERTS SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_CONFIG_NOSYSTEM")

// harvestRows look for secrets and for files of others.
func harvestRows(c Config) []Row {
	file := func(id, promise, what string, want []string, paths ...string) Row {
		return Row{ID: id, Promise: promise, What: what, Want: want, run: func(_ context.Context, p *Probe) Result { return p.readable(paths) }}
	}
	link := func(id, promise, target string, want []string) Row {
		return Row{ID: id, Promise: promise, What: "a symbolic link to " + target, Want: want, run: func(_ context.Context, p *Probe) Result {
			name := "link-" + id + "-" + p.Phase
			if err := os.Symlink(target, name); err != nil {
				return Result{Outcome: Broken, Detail: err.Error()}
			}
			defer os.Remove(name)
			return p.readable([]string{name})
		}}
	}
	hunt := func(id, promise, what string, own []string, take func(evil.Find) bool) Row {
		return Row{ID: id, Promise: promise, What: what, Want: own, run: func(ctx context.Context, p *Probe) Result { return p.hunt(ctx, take) }}
	}
	gone := []string{Absent, Denied}
	return []Row{
		{ID: "environment", Promise: "E1 A17 B9 A23 A24", What: "variables beside the safe ones", Want: []string{Absent}, run: func(_ context.Context, p *Probe) Result {
			var others []string
			for _, v := range p.Environ {
				if name, _, _ := strings.Cut(v, "="); !slices.Contains(safeVariables, name) {
					others = append(others, name)
				}
			}
			if len(others) > 0 {
				return Result{Outcome: Found, Detail: strings.Join(others, " ")}
			}
			return Result{Outcome: Absent, Detail: fmt.Sprintf("%d variables, all safe", len(p.Environ))}
		}},
		hunt("proc-environ", "E4 A8", "the environment of every process", []string{Absent, Denied}, func(f evil.Find) bool { return strings.HasSuffix(f.Place, "/environ") }),
		hunt("proc-cmdline", "K7", "the command line of every process", []string{Absent, Denied}, func(f evil.Find) bool { return strings.HasSuffix(f.Place, "/cmdline") }),
		hunt("proc-mem", "E4", "the memory of the engine and the supervisor", []string{Denied}, func(f evil.Find) bool { return strings.HasSuffix(f.Place, "/mem") }),
		hunt("proc-fd", "E4", "what the engine and the supervisor have open", []string{Denied}, func(f evil.Find) bool { return strings.Contains(f.Place, "/fd") }),
		hunt("ptrace", "E4", "becoming the debugger of the engine", []string{Denied}, func(f evil.Find) bool { return strings.HasPrefix(f.Place, "ptrace") }),
		{ID: "files", Promise: "K7 E6", What: "a secret in any file that can be read", Want: []string{Absent}, run: func(ctx context.Context, p *Probe) Result { return p.searchFiles(ctx) }},
		file("shadow", "A9 B4", "/etc/shadow", gone, "/etc/shadow", "/etc/gshadow"),
		file("ssh", "A10 B6", "keys of SSH", gone, c.home()+"/.ssh/id_rsa", c.home()+"/.ssh/id_ed25519", "/root/.ssh/id_rsa"),
		file("aws", "A11", "keys of a cloud", gone, c.home()+"/.aws/credentials", "/root/.aws/credentials", c.home()+"/.config/gcloud/application_default_credentials.json"),
		file("socket", "A12 B8 K4", "the daemon's socket", gone, "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/host/var/run/docker.sock"),
		file("env-file", "E6", "env files in the workspace", []string{Absent, Denied, Empty}, ".env", ".env.local", "deep/er/.env", "deep/er/.ENV.production"),
		file("history", "F2 R3", "the history of jobs in the workspace", []string{Absent, Denied, Empty}, "perstack", "perstack/jobs"),
		link("link-passwd", "A13", "/etc/passwd", []string{Empty, Absent, Held}),
		link("link-shadow", "A14", "/etc/shadow", gone),
		link("link-host", "A15", "/host-root/etc/passwd", gone),
		link("link-env", "E6", ".env", []string{Absent, Denied, Empty}),
		link("link-history", "F2", "perstack/jobs", []string{Absent, Denied, Empty}),
		link("link-root", "E4", "/proc/1/root/etc/shadow", gone),
		link("link-cwd", "E4", "/proc/1/cwd", gone),
		{ID: "freeze", Promise: "K4", What: "a change of perstack.toml, for the next run", Want: []string{Denied}, run: func(context.Context, *Probe) Result {
			return changed("perstack.toml", "perstack.lock")
		}},
	}
}

func (c Config) home() string { return "/home/perstack" }

// readable tells whether one of some files shows something. The container's own list of
// users is harmless as long as it is the container's own.
func (p *Probe) readable(paths []string) Result {
	worst := Result{Outcome: Absent}
	for _, path := range paths {
		info, err := os.Stat(path)
		var data []byte
		switch {
		case err == nil && info.IsDir():
			var entries []fs.DirEntry
			entries, err = os.ReadDir(path)
			for _, e := range entries {
				data = append(data, e.Name()...)
			}
		case err == nil && info.Mode()&fs.ModeSocket != 0:
			data = []byte("a socket")
		case err == nil:
			data, err = readSome(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			worst = Result{Outcome: Denied, Detail: err.Error()}
		case len(data) == 0:
			if worst.Outcome == Absent {
				worst = Result{Outcome: Empty, Detail: path}
			}
		case bytes.Contains(data, Flip(p.Marker)):
			return Result{Outcome: Found, Detail: path + " has a secret"}
		case isOwnUsers(data):
			worst = Result{Outcome: Held, Detail: path + " is the container's own"}
		default:
			return Result{Outcome: Found, Detail: fmt.Sprintf("%s shows %d bytes", path, len(data))}
		}
	}
	return worst
}

// isOwnUsers reports a list of users that names perstack and few others.
func isOwnUsers(data []byte) bool {
	return bytes.Contains(data, []byte("perstack:x:")) && bytes.Count(data, []byte("\n")) < 5
}

func readSome(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// changed tries to change files: to write, to put another one in their place, to remove.
func changed(names ...string) Result {
	last := Result{Outcome: Broken, Detail: "there is none of them"}
	for _, name := range names {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			f.Close()
			return Result{Outcome: Found, Detail: name + " can be written to"}
		}
		last = Result{Outcome: Denied, Detail: err.Error()}
		other := name + ".other"
		if err := os.WriteFile(other, nil, 0o600); err == nil {
			if err := os.Rename(other, name); err == nil {
				return Result{Outcome: Found, Detail: name + " can be replaced"}
			}
			os.Remove(other)
		}
		if err := os.Remove(name); err == nil {
			return Result{Outcome: Found, Detail: name + " can be removed"}
		}
	}
	return last
}

// hunt looks at the processes around the probe.
func (p *Probe) hunt(ctx context.Context, take func(evil.Find) bool) Result {
	looked, denied := 0, 0
	var detail []string
	for _, f := range evil.Hunt(ctx, evil.HuntOptions{Marker: string(Flip(p.Marker)), Levels: 6, Everywhere: true}) {
		if f.Who == "self" || f.Place == "environment" || !take(f) || f.Error == "absent" { // which has ended meanwhile
			continue
		}
		looked++
		if len(f.Planted) > 0 {
			return Result{Outcome: Found, Detail: f.Place + " has a secret"}
		}
		if f.Error == "denied" {
			denied++
		} else {
			detail = append(detail, f.Place+" "+f.Error)
		}
	}
	switch {
	case looked == 0:
		return Result{Outcome: Broken, Detail: "nothing to look at"}
	case denied == looked:
		return Result{Outcome: Denied, Detail: fmt.Sprintf("%d places", looked)}
	}
	return Result{Outcome: Absent, Detail: fmt.Sprintf("%d places, %d denied; open: %s", looked, denied, strings.Join(detail, ", "))}
}

// searchFiles reads everything that can be read, but for what the kernel makes up. Where
// the root is closed, it begins at what may be open below it.
func (p *Probe) searchFiles(ctx context.Context) Result {
	marker := Flip(p.Marker)
	files, found := 0, ""
	home, _ := os.UserHomeDir()
	for _, top := range append([]string{"/", ".", home, os.TempDir(), "/home", "/tmp", "/var", "/run", "/root", "/skills", "/perstack", "/etc"}, landlock.SystemPaths()...) {
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil || found != "":
				return filepath.SkipAll
			case err != nil:
				return nil // not for us
			case d.IsDir() && (path == "/proc" || path == "/sys" || path == "/dev"):
				return filepath.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			data, err := readSome(path)
			if err == nil {
				files++
			}
			if bytes.Contains(data, marker) {
				found = path
			}
			return nil
		})
	}
	switch {
	case found != "":
		return Result{Outcome: Found, Detail: found}
	case files == 0:
		return Result{Outcome: Broken, Detail: "no file can be read"}
	}
	return Result{Outcome: Absent, Detail: fmt.Sprintf("%d files", files)}
}
