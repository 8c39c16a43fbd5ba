package policy

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the paths are those of Linux")
	}
	dir := tempDir(t)
	build(t, dir, "home/datasets/a.csv", "home/.gnupg/x", "home/.docker/run/x", "home/.docker/config.json", "home/state/perstack/projects/", "home/.ssh/agent/",
		"out/x", "to-out -> out", "to-home -> home", "to-state -> home/state/perstack/projects", "to-root -> /", "to-proc -> /proc/self", "dangling -> none", "loop -> loop",
		"agent/other", "project/")
	p := Places{
		Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "home/state/perstack"), Dir: filepath.Join(dir, "project"),
		Sockets: []string{filepath.Join(dir, "agent/agent.1"), "/run/user/1000/bus"},
	}
	for _, test := range []struct{ path, want, err string }{
		{"~/datasets", "home/datasets", ""},
		{"~/datasets/a.csv", "home/datasets/a.csv", ""},
		{"DIR/out", "out", ""},
		{"../out", "out", ""},
		{"../to-out/./x", "out/x", ""},
		{"~/.docker/config.json", "home/.docker/config.json", ""},
		{"", "", "not a path"},
		{"a\x00b", "", "not a path"},
		{"~/none", "", "does not exist"},
		{"DIR/out/x/y", "", "does not exist"},
		{"DIR/dangling", "", "does not exist"},
		{"DIR/loop", "", "too many links"},
		{"/", "", "whole file system"},
		{"DIR/to-root", "", "whole file system"},
		{"~", "", "is the home directory"},
		{"~/", "", "is the home directory"},
		{"DIR/to-home", "", "is the home directory"},
		{"DIR", "", "contains the home directory"},
		{"..", "", "contains the home directory"},
		{"~/state", "", "contains the state directory"},
		{"~/state/perstack", "", "in the state directory"},
		{"DIR/to-state", "", "in the state directory"},
		{"~/.gnupg", "", "sockets of an agent"},
		{"~/.gnupg/x", "", "sockets of an agent"},
		{"~/.docker", "", "sockets of an agent"},
		{"DIR/agent", "", "socket of an agent"},
		{"DIR/agent/other", "", "socket of an agent"},
		{"/proc", "", "/proc belongs to the system"},
		{"DIR/to-proc", "", "/proc belongs to the system"},
		{"/sys", "", "/sys belongs to the system"},
		{"/dev/null", "", "/dev belongs to the system"},
		{"/run", "", "/run belongs to the system"},
		{"/var/run", "", "belongs to the system"},
	} {
		path := strings.ReplaceAll(test.path, "DIR", dir)
		got, err := p.CheckPath("readable path", path)
		switch {
		case test.err == "" && (err != nil || got != filepath.Join(dir, test.want)):
			t.Errorf("%s: got %q, %v", test.path, got, err)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), "readable path")):
			t.Errorf("%s: got %q, %v, want an error with %q", test.path, got, err, test.err)
		}
	}
	if _, err := (Places{}).CheckPath("readable path", "~/x"); err == nil || !strings.Contains(err.Error(), "home directory is not known") {
		t.Errorf("got %v", err)
	}
	if _, err := (Places{}).CheckPath("readable path", "x"); err == nil || !strings.Contains(err.Error(), "not absolute") {
		t.Errorf("got %v", err)
	}
}

func TestCheckPathSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets have no type here")
	}
	dir := tempDir(t)
	path := filepath.Join(dir, "docker.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := (Places{}).CheckPath("writable path", path); err == nil || !strings.Contains(err.Error(), "it is a socket") {
		t.Errorf("got %v", err)
	}
	// A directory around a socket that the environment names is refused, a link to it as well.
	p := NewPlaces("", "", "", []string{"DOCKER_HOST=unix://" + path})
	if _, err := p.CheckPath("writable path", dir); err == nil || !strings.Contains(err.Error(), "container service") {
		t.Errorf("got %v", err)
	}
}

func TestNewPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	p := NewPlaces("/home/ann", "/state", "/work", []string{
		"SSH_AUTH_SOCK=/tmp/ssh-x/agent.7", "GPG_AGENT_INFO=/tmp/gpg-x/S.gpg-agent:12:1", "DOCKER_HOST=unix:///srv/docker.sock",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus,guid=a", "CONTAINER_HOST=tcp://example.com:2375", "SSH_AUTH_SOCK=relative", "OTHER=/x", "x",
	})
	want := Places{
		Home: "/home/ann", State: "/state", Dir: "/work", Config: "/home/ann/.config/perstack",
		Sockets: []string{"/tmp/ssh-x/agent.7", "/tmp/gpg-x/S.gpg-agent", "/srv/docker.sock", "/run/user/1000/bus"},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if p := NewPlaces("/home/ann", "", "", []string{"XDG_CONFIG_HOME=/cfg", "XDG_CONFIG_HOME=relative"}); p.Config != "/cfg/perstack" {
		t.Errorf("the configuration is in %s", p.Config)
	}
}

// A sandbox never opens the directory with the logins of the user, whatever the user says.
func TestLoginsAreNotOpened(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "home/.config/perstack/credentials.json", "home/.config/git/config", "link -> home/.config/perstack", "none/.config/x")
	p := NewPlaces(filepath.Join(dir, "home"), "", dir, nil)
	for _, path := range []string{"~/.config", "~/.config/perstack", "~/.config/perstack/credentials.json", "link", "link/credentials.json"} {
		if got, err := p.CheckPath("readable path", path); err == nil || !strings.Contains(err.Error(), "where logins are kept") {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	if _, err := p.CheckPath("readable path", "~/.config/git"); err != nil {
		t.Error(err)
	}
	if _, err := NewPlaces(filepath.Join(dir, "none"), "", dir, nil).CheckPath("readable path", "~/.config"); err != nil {
		t.Errorf("without a configuration: %v", err)
	}
}

func TestCheckWorkspace(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "home/project/x", "home/state/perstack/projects/", "link -> home/project", "up -> .")
	p := Places{Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "home/state/perstack"), Dir: filepath.Join(dir, "home/project")}
	for _, path := range []string{".", "~/project", "../../link", filepath.Join(dir, "link")} {
		if got, err := p.CheckWorkspace(path); err != nil || got != filepath.Join(dir, "home/project") {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	for path, want := range map[string]string{
		"~": "is the home directory", "..": "is the home directory", "../..": "contains the home directory", string(filepath.Separator): "whole file system",
		"~/state": "contains the state directory", "~/state/perstack/projects": "in the state directory", "x": "not a directory", "none": "does not exist",
		filepath.Join(dir, "up"): "contains the home directory",
	} {
		if got, err := p.CheckWorkspace(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "choose a directory") {
			t.Errorf("%s: got %q, %v, want an error with %q", path, got, err, want)
		}
	}
}

func TestOutermost(t *testing.T) {
	at := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, string(filepath.Separator)+filepath.FromSlash(name))
		}
		return all
	}
	in := at("b", "a/b", "ab", "a", "a", "b/c/d")
	if diff := cmp.Diff(at("a", "ab", "b"), outermost(in)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(at("b", "a/b", "ab", "a", "a", "b/c/d"), in); diff != "" {
		t.Errorf("the argument was changed: %s", diff)
	}
}

func TestFollow(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "real/x", "link -> real")
	for path, want := range map[string]string{"link/x": "real/x", "link/none/y": "real/none/y", "none": "none"} {
		if got := follow(filepath.Join(dir, path)); got != filepath.Join(dir, want) {
			t.Errorf("%s: got %s", path, got)
		}
	}
	if follow("") != "" {
		t.Error("an empty path leads somewhere")
	}
	if _, err := os.Lstat(filepath.Join(dir, "none")); err == nil {
		t.Error("something was made")
	}
}
