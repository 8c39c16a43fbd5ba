package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
	"github.com/perstack-go/perstack/internal/userfile"
)

// An address is where a daemon is, and who says so.
type address struct {
	host string // scheme://…
	from string
}

// locate asks in the order of the docker command.
func locate(getenv func(string) string, home string) (address, error) {
	if host := getenv("DOCKER_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "tcp://" + host // as the docker command reads it
		}
		return address{host, "DOCKER_HOST"}, nil
	}
	dir := getenv("DOCKER_CONFIG")
	if dir == "" && home != "" {
		dir = filepath.Join(home, ".docker")
	}
	name, from := getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" && dir != "" {
		from = filepath.Join(dir, "config.json")
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		if err := readJSON(from, &config); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return address{}, fmt.Errorf("read the configuration of docker: %w; fix the file, or set DOCKER_HOST", err)
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return address{api.DefaultHost, "the usual place"}, nil
	}
	return ofContext(dir, name, from)
}

// ofContext reads the address of a context, which lies in a directory named after the
// digest of its name.
func ofContext(dir, name, from string) (address, error) {
	var meta struct {
		Name      string
		Endpoints map[string]struct{ Host string }
	}
	path := filepath.Join(dir, "contexts", "meta", hashOf([]byte(name)), "meta.json")
	if err := readJSON(path, &meta); errors.Is(err, fs.ErrNotExist) {
		return address{}, fmt.Errorf("%s names the docker context %q, which does not exist; choose one with: docker context use NAME", from, name)
	} else if err != nil {
		return address{}, fmt.Errorf("docker context %q: %w", name, err)
	}
	host := meta.Endpoints["docker"].Host
	if meta.Name != name || host == "" {
		return address{}, fmt.Errorf("docker context %q: %s names no daemon; choose another one with: docker context use NAME", name, path)
	}
	return address{host, fmt.Sprintf("docker context %q", name)}, nil
}

// maxConfig bounds the configuration of docker, which may hold many credentials.
const maxConfig = 4 << 20

func readJSON(path string, into any) error {
	data, err := userfile.Read(path, maxConfig)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// check refuses daemons of other machines. The workspace is mounted by its path: another
// machine would mount what it has there itself. A TCP port, even one of this machine, can
// lead to another machine, so only sockets and pipes of the file system are accepted.
func (a address) check() error {
	scheme, _, _ := strings.Cut(a.host, "://")
	switch scheme {
	case "unix", "npipe":
		return nil
	case "ssh":
		return fmt.Errorf("the Docker daemon %s (%s) is reached through ssh, and is on another machine, which does not have the workspace; "+
			"run perstack on that machine, or use a daemon of this one: DOCKER_HOST=%s", redactHost(a.host), a.from, api.DefaultHost)
	default:
		return fmt.Errorf("the Docker daemon %s (%s) may be on another machine, which would mount its own files as the workspace; "+
			"use the socket of a daemon of this machine: DOCKER_HOST=%s", redactHost(a.host), a.from, api.DefaultHost)
	}
}

// redactHost leaves out who logs in, and with what.
func redactHost(host string) string {
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		return fmt.Sprintf("%q", host)
	}
	return fmt.Sprintf("%q", scheme+"://"+rest[strings.LastIndex(rest, "@")+1:])
}
