package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
)

// Places are what no sandbox may contain, whatever the user allows. All are absolute; empty ones
// are left out.
type Places struct {
	Home  string // the home directory: parts of it can be shown, the whole cannot
	State string // the state directory of perstack
	Dir   string // where relative paths start
	// Config is the directory of the user's configuration of perstack, where logins are kept.
	Config string
	// Sockets are those of agents, by which a program would use keys that it cannot read.
	Sockets []string
}

// NewPlaces takes the sockets and the directory of the configuration from the environment.
func NewPlaces(home, state, dir string, environ []string) Places {
	p := Places{Home: home, State: state, Dir: dir}
	if home != "" {
		p.Config = filepath.Join(home, ".config", "perstack")
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "XDG_CONFIG_HOME", "AppData": // macOS has it in the state directory
			if filepath.IsAbs(value) {
				p.Config = filepath.Join(value, "perstack")
			}
			continue
		case "SSH_AUTH_SOCK", "GPG_AGENT_INFO":
			value, _, _ = strings.Cut(value, ":") // of gpg: number and version follow
		case "DOCKER_HOST", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS":
			_, value, _ = strings.Cut(value, "/")
			value, _, _ = strings.Cut("/"+strings.TrimLeft(value, "/"), ",")
			if !strings.Contains(kv, "unix:") {
				continue
			}
		default:
			continue
		}
		if filepath.IsAbs(value) {
			p.Sockets = append(p.Sockets, filepath.Clean(value))
		}
	}
	return p
}

// CheckPath returns an extra path of a sandbox, absolute and without links, or an error if it does
// not exist or would give programs more than files. Kind says in errors what the path is.
func (p Places) CheckPath(kind, path string) (string, error) {
	return p.follow().checkPath(kind, path)
}

func (p followed) checkPath(kind, path string) (string, error) {
	real, err := p.resolve(path)
	if err == nil {
		err = p.refuse(real)
	}
	if err != nil {
		return "", fmt.Errorf("the %s %q cannot be part of the sandbox: %w", kind, path, err)
	}
	return real, nil
}

// CheckWorkspace returns the directory of a workspace, absolute and without links, or an error if
// programs that can change it would not be in a sandbox.
func (p Places) CheckWorkspace(path string) (string, error) {
	real, err := p.resolve(path)
	if err == nil {
		err = p.follow().refuse(real)
	}
	if err == nil {
		if info, e := os.Stat(real); e != nil || !info.IsDir() {
			err = errors.New("it is not a directory")
		}
	}
	if err != nil {
		return "", fmt.Errorf("the directory %q cannot be the workspace of a sandbox: %w; choose a directory of one project", path, err)
	}
	return real, nil
}

// resolve makes a path absolute and follows its links.
func (p Places) resolve(path string) (string, error) {
	at := path
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return "", errors.New("it is not a path")
	case path == "~" || strings.HasPrefix(path, "~/"):
		if p.Home == "" {
			return "", errors.New("the home directory is not known")
		}
		at = filepath.Join(p.Home, path[1:])
	case !filepath.IsAbs(path):
		if p.Dir == "" {
			return "", errors.New("it is not absolute")
		}
		at = filepath.Join(p.Dir, path)
	}
	real, err := filepath.EvalSymlinks(at)
	switch {
	case userfile.Absent(err):
		return "", errors.New("it does not exist")
	case err != nil:
		return "", userfile.Reason(err)
	}
	return filepath.Clean(real), nil
}

// followed are places with their links followed, to check several paths.
type followed struct {
	Places
	home, state string
	config      string
	agents      []string // as agentDirs lists them
	sockets     []string
}

func (p Places) follow() followed {
	f := followed{Places: p, home: follow(p.Home), state: follow(p.State), config: follow(p.Config)}
	if f.home != "" {
		for _, name := range agentDirs() {
			f.agents = append(f.agents, follow(filepath.Join(f.home, name)))
		}
	}
	for _, socket := range p.Sockets {
		f.sockets = append(f.sockets, follow(socket))
	}
	return f
}

// refuse says why a path without links cannot be shown to programs.
func (p followed) refuse(real string) error {
	if real == filepath.Dir(real) {
		return errors.New("it is the whole file system")
	}
	if p.home != "" {
		if real == p.home {
			return errors.New("it is the home directory")
		}
		if in(real, p.home) {
			return errors.New("it contains the home directory")
		}
		for i, dir := range p.agents {
			if touches(real, dir) {
				return fmt.Errorf("it has the sockets of an agent in ~/%s", agentDirs()[i])
			}
		}
	}
	if p.state != "" {
		if in(p.state, real) {
			return errors.New("it is in the state directory of perstack")
		}
		if in(real, p.state) {
			return errors.New("it contains the state directory of perstack")
		}
	}
	if in(p.config, real) {
		return errors.New("it is in the configuration of perstack, where logins are kept")
	}
	if in(real, p.config) {
		if _, err := os.Lstat(p.config); err == nil {
			return errors.New("it contains the configuration of perstack, where logins are kept")
		}
	}
	for _, dir := range systemDirs() {
		if touches(real, dir) && !in("/run/media", real) { // where disks of users are mounted
			return fmt.Errorf("%s belongs to the system", dir)
		}
	}
	for _, socket := range p.sockets {
		// The directory of a socket is refused with it, unless other things are usually in there.
		dir := filepath.Dir(socket)
		if in(real, socket) || in(dir, real) && dir != "/tmp" && dir != "/var/tmp" && !in(dir, p.home) {
			return errors.New("it has the socket of an agent or of a container service")
		}
	}
	if info, err := os.Lstat(real); err != nil {
		return userfile.Reason(err)
	} else if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("it is a %s", fileKind(info.Mode()))
	}
	return nil
}

func fileKind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	}
	return "device"
}

// agentDirs are directories in home with sockets of agents that sign and decrypt.
func agentDirs() []string { return []string{".gnupg", ".docker/run", ".docker/desktop"} }

// systemDirs are directories in which the kernel and services have their interfaces.
func systemDirs() []string {
	if runtime.GOOS == "windows" {
		return nil
	}
	return []string{"/proc", "/sys", "/dev", "/run", "/var/run"}
}

// follow resolves the links of a path as far as it exists; "" for "".
func follow(path string) string {
	if path == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && dir != path {
		return filepath.Join(follow(dir), filepath.Base(path))
	}
	return filepath.Clean(path)
}

// in reports whether a path is a directory or lies in it.
func in(dir, path string) bool {
	if dir == "" || path == "" {
		return false
	}
	_, ok := userfile.Below(dir, path)
	return ok
}

// touches reports whether one path lies in the other.
func touches(a, b string) bool { return in(a, b) || in(b, a) }

// outermost sorts paths and leaves out those in others.
func outermost(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(paths, func(other string) bool { return other != path && in(other, path) })
	})
}
