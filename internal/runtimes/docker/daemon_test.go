package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/api/types/system"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
)

// dotDocker makes the configuration of docker in a home directory.
func dotDocker(t *testing.T, config string, contexts map[string]string) (home string) {
	t.Helper()
	home = t.TempDir()
	write := func(name, text string) {
		p := filepath.Join(home, ".docker", name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if config != "" {
		write("config.json", config)
	}
	for name, meta := range contexts {
		sum := sha256.Sum256([]byte(name))
		write(filepath.Join("contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"), meta)
	}
	return home
}

func meta(name, host string) string {
	return fmt.Sprintf(`{"Name":%q,"Metadata":{"Description":"x"},"Endpoints":{"docker":{"Host":%q,"SkipTLSVerify":false}}}`, name, host)
}

func TestLocate(t *testing.T) {
	home := dotDocker(t, `{"auths":{},"currentContext":"mine"}`, map[string]string{
		"mine":  meta("mine", "unix:///run/mine.sock"),
		"other": meta("other", "unix:///run/other.sock"),
		"empty": meta("empty", ""),
		"liar":  meta("another", "unix:///run/other.sock"),
		"twice": `{"Name":"twice","Name":"twice"}`,
		"huge":  `{"Name":"` + strings.Repeat("x", maxConfig) + `"}`,
	})
	plain := dotDocker(t, `{"auths":{}}`, nil)
	for _, c := range []struct {
		name string
		env  map[string]string
		home string
		want string // the address, or a part of the error
	}{
		{"nothing", nil, t.TempDir(), api.DefaultHost},
		{"no home", nil, "", api.DefaultHost},
		{"a configuration without context", nil, plain, api.DefaultHost},
		{"the context of the configuration", nil, home, "unix:///run/mine.sock"},
		{"DOCKER_CONTEXT", map[string]string{"DOCKER_CONTEXT": "other"}, home, "unix:///run/other.sock"},
		{"DOCKER_CONTEXT=default", map[string]string{"DOCKER_CONTEXT": "default"}, home, api.DefaultHost},
		{"DOCKER_HOST wins", map[string]string{"DOCKER_HOST": "unix:///x", "DOCKER_CONTEXT": "other"}, home, "unix:///x"},
		{"DOCKER_HOST without scheme", map[string]string{"DOCKER_HOST": "10.0.0.1:2375"}, home, "tcp://10.0.0.1:2375"},
		{"DOCKER_CONFIG", map[string]string{"DOCKER_CONFIG": filepath.Join(home, ".docker")}, plain, "unix:///run/mine.sock"},
		{"no such context", map[string]string{"DOCKER_CONTEXT": "none"}, home, `the docker context "none", which does not exist`},
		{"a context without daemon", map[string]string{"DOCKER_CONTEXT": "empty"}, home, "names no daemon"},
		{"a context under another's name", map[string]string{"DOCKER_CONTEXT": "liar"}, home, "names no daemon"},
		{"a context that says a thing twice", map[string]string{"DOCKER_CONTEXT": "twice"}, home, "duplicate"},
		{"a context without end", map[string]string{"DOCKER_CONTEXT": "huge"}, home, "larger than"},
		{"a configuration that is broken", nil, dotDocker(t, `{"currentContext":`, nil), "fix the file"},
	} {
		at, err := locate(func(name string) string { return c.env[name] }, c.home)
		got := at.host
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOtherMachines(t *testing.T) {
	for host, want := range map[string]string{
		"unix:///var/run/docker.sock":        "",
		"npipe:////./pipe/docker_engine":     "",
		"ssh://me@build.example":             "reached through ssh",
		"tcp://10.0.0.1:2376":                "may be on another machine",
		"tcp://127.0.0.1:2375":               "may be on another machine",
		"https://user:secret@engine.example": "may be on another machine",
		"fd://":                              "may be on another machine",
		"nonsense":                           "may be on another machine",
	} {
		err := address{host, "DOCKER_HOST"}.check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", host, err)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "me@")) {
			t.Errorf("%s: %v tells who logs in", host, err)
		}
	}
}

func TestJudge(t *testing.T) {
	good := func(change func(*system.Info)) system.Info {
		i := system.Info{OSType: "linux", SecurityOptions: []string{"name=seccomp,profile=default"}, MemoryLimit: true, SwapLimit: true, PidsLimit: true, CPUCfsQuota: true}
		change(&i)
		return i
	}
	for _, c := range []struct {
		name  string
		info  system.Info
		notes string
		err   string
	}{
		{"as it should be", good(func(*system.Info) {}), "", ""},
		{"builtin seccomp", good(func(i *system.Info) {
			i.SecurityOptions = []string{"name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"}
		}), "", ""},
		{"rootless", good(func(i *system.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=rootless") }), "rootless", ""},
		{"remapped", good(func(i *system.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=userns") }), "userns-remap", ""},
		{"own profile", good(func(i *system.Info) { i.SecurityOptions = []string{"name=seccomp,profile=/etc/p.json"} }), "/etc/p.json", ""},
		{"no swap limit", good(func(i *system.Info) { i.SwapLimit = false }), "cannot limit swap", ""},
		{"Windows", good(func(i *system.Info) { i.OSType = "windows" }), "", "runs windows containers"},
		{"no seccomp", good(func(i *system.Info) { i.SecurityOptions = []string{"name=apparmor"} }), "", "seccomp is missing"},
		{"unconfined", good(func(i *system.Info) { i.SecurityOptions = []string{"name=seccomp,profile=unconfined"} }), "", "unconfined"},
		{"no limits", good(func(i *system.Info) { i.MemoryLimit, i.PidsLimit = false, false }), "", "cannot limit memory, processes of"},
		{"no processor limit", good(func(i *system.Info) { i.CPUCfsQuota = false }), "", "cannot limit processor time of"},
	} {
		notes, err := judge(c.info)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if text := strings.Join(notes, "\n"); c.notes == "" && text != "" || !strings.Contains(text, c.notes) {
			t.Errorf("%s: notes %q", c.name, text)
		}
	}
}

func TestConnect(t *testing.T) {
	d := realDaemon(t)
	if d.Arch == "" || d.Version == "" || !strings.Contains(d.Host, "://") {
		t.Errorf("%+v", d)
	}
}

func TestNoDaemon(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none.sock")
	_, err := Connect(t.Context(), func(name string) string {
		return map[string]string{"DOCKER_HOST": "unix://" + socket}[name]
	}, "")
	// Not everybody who connects runs something: hints about runs are for those who do.
	if _, ok := errors.AsType[*DaemonError](err); !ok || !strings.Contains(err.Error(), "cannot reach the Docker daemon at unix://"+socket+": start it") ||
		strings.Contains(err.Error(), "--runtime") {
		t.Errorf("Connect: %v", err)
	}
	for name, value := range map[string]string{"DOCKER_HOST": "ssh://me@there", "DOCKER_CONTEXT": "nowhere"} {
		_, err := Connect(t.Context(), func(asked string) string { return map[string]string{name: value}[asked] }, t.TempDir())
		if _, ok := errors.AsType[*DaemonError](err); !ok {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	// Who stops meanwhile is not told about daemons.
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := Connect(ctx, func(string) string { return "unix://" + socket }, ""); !errors.Is(err, stopped) {
		t.Errorf("after a stop: %v", err)
	}
}

func TestNotConnected(t *testing.T) {
	d := &Daemon{Host: "unix:///e.sock"}
	for cause, want := range map[error]string{
		&api.ConnectionError{Err: syscall.EACCES}:       "no permission to use the Docker daemon at unix:///e.sock: join its group",
		&api.ConnectionError{Err: syscall.ECONNREFUSED}: "cannot reach the Docker daemon at unix:///e.sock: start it",
		&api.ConnectionError{Err: syscall.EINVAL}:       "the path of the Docker daemon's socket, unix:///e.sock, is too long for a socket; let DOCKER_HOST name a shorter one",
		errors.New("decode the answer"):                 "the Docker daemon at unix:///e.sock: decode the answer",
		&api.Error{Status: 500, Message: "busy"}:        "the Docker daemon at unix:///e.sock: busy",
	} {
		if err := d.unreachable(cause); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// A daemon that is too old, and one that answers something else, are refused in plain
// words. The daemon is a server on a socket.
func TestStrangeEngines(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"too old", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.39") }, "too old: its API is 1.39"},
		{"no daemon", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "what?", http.StatusTeapot) }, "what?"},
		{"control characters", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			fmt.Fprint(w, `{"Arch":"amd64","Version":"28","OSType":"\u001b[31mplan9"}`)
		}, "runs plan9 containers"},
	} {
		socket := filepath.Join(shortDir(t), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: c.answer}}
		server.Start()
		_, err = Connect(t.Context(), func(name string) string {
			return map[string]string{"DOCKER_HOST": "unix://" + socket}[name]
		}, "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		server.Close()
	}
}

// shortDir is a directory whose path fits the address of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
