package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/system"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A Daemon is the Docker daemon that runs are made on.
type Daemon struct {
	api     *api.Client
	Arch    string   // of its containers, as Go names it: amd64, arm64
	Host    string   // where it is, as the docker command would be told
	Version string   // of the daemon
	CPUs    int      // that its machine has
	Notes   []string // what the user should know about it, a line each
}

// connectLimit bounds the first words with a daemon. A local one answers in milliseconds.
const connectLimit = 15 * time.Second

// Connect finds the daemon as the docker command would (DOCKER_HOST, DOCKER_CONTEXT, the
// context of the user's configuration, the usual socket) and checks that it can be used.
// getenv must not answer from env files: the daemon gets the secrets of the run.
// home is the user's home directory. What keeps a daemon from being used is a
// [DaemonError].
func Connect(ctx context.Context, getenv func(string) string, home string) (*Daemon, error) {
	d, err := connect(ctx, getenv, home)
	if err != nil && ctx.Err() == nil { // a cancelled call says nothing about the daemon
		err = &DaemonError{Err: err}
	}
	return d, cause(ctx, err)
}

func connect(ctx context.Context, getenv func(string) string, home string) (*Daemon, error) {
	at, err := locate(getenv, home)
	if err != nil {
		return nil, err
	}
	if err := at.check(); err != nil {
		return nil, err
	}
	client, err := api.New(at.host)
	if err != nil {
		return nil, fmt.Errorf("the Docker daemon at %s (%s): %w", at.host, at.from, err)
	}
	d := &Daemon{api: client, Host: at.host}
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if err := d.greet(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the connections.
func (d *Daemon) Close() { d.api.Close() }

// minAPI is the oldest API that has all options of our containers (Docker 19.03).
const minAPI = "1.40"

// greet asks the daemon what it is, and refuses what cannot hold a run.
func (d *Daemon) greet(ctx context.Context) error {
	apiVersion, err := d.api.Ping(ctx)
	if err != nil {
		return d.unreachable(err)
	}
	if api.Older(apiVersion, minAPI) {
		return fmt.Errorf("the Docker daemon at %s is too old: its API is %s, and %s is needed; update it to Docker 23.0.11 or later",
			d.Host, terminal.CleanLine(apiVersion), minAPI)
	}
	version, err := d.api.Version(ctx)
	if err != nil {
		return d.unreachable(err)
	}
	info, err := d.api.Info(ctx)
	if err != nil {
		return d.unreachable(err)
	}
	d.Arch, d.Version = version.Arch, terminal.CleanLine(version.Version)
	d.CPUs = info.NCPU
	notes, err := judge(info)
	if err != nil {
		return fmt.Errorf("the Docker daemon at %s %w", d.Host, err)
	}
	d.Notes = notes
	return nil
}

// judge looks for the safeguards of a daemon. One that is missing stops the run; what is
// weaker than it could be is a note. The error follows the words "the Docker daemon".
func judge(info system.Info) (notes []string, err error) {
	if info.OSType != "linux" {
		return nil, fmt.Errorf("runs %s containers, and Linux ones are needed; switch it to Linux containers", terminal.CleanLine(info.OSType))
	}
	profile, has := securityOption(info.SecurityOptions, "seccomp")
	switch {
	case !has:
		return nil, errors.New("does not filter system calls (seccomp is missing); use a kernel and a daemon with seccomp")
	case profile == "unconfined":
		return nil, errors.New("does not filter system calls (its seccomp profile is unconfined); remove seccomp-profile from its configuration")
	case profile != "" && profile != "default" && profile != "builtin":
		notes = append(notes, "the Docker daemon filters system calls by a profile of its own: "+terminal.CleanLine(profile))
	}
	var missing []string
	for _, limit := range []struct {
		name string
		has  bool
	}{{"memory", info.MemoryLimit}, {"processes", info.PidsLimit}, {"processor time", info.CPUCfsQuota}} {
		if !limit.has {
			missing = append(missing, limit.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("cannot limit %s of a container; let it use control groups (rootless daemons need cgroup v2 with delegation)", strings.Join(missing, ", "))
	}
	if !info.SwapLimit {
		notes = append(notes, "the Docker daemon cannot limit swap: a container may use more than its memory, on the disk")
	}
	if _, rootless := securityOption(info.SecurityOptions, "rootless"); rootless {
		notes = append(notes, "the Docker daemon is rootless: the container's user is another than yours, and needs permission to write to the workspace")
	} else if _, remapped := securityOption(info.SecurityOptions, "userns"); remapped {
		notes = append(notes, "the Docker daemon maps users (userns-remap): the container's user is another than yours, and needs permission to write to the workspace")
	}
	return notes, nil
}

// securityOption finds an option such as "name=seccomp,profile=default".
func securityOption(options []string, name string) (profile string, ok bool) {
	for _, o := range options {
		for field := range strings.SplitSeq(o, ",") {
			key, value, _ := strings.Cut(field, "=")
			switch {
			case key == "name" && value == name, field == name:
				ok = true
			case key == "profile" && ok:
				return value, true
			}
		}
		if ok {
			return "", true
		}
	}
	return "", false
}

// unreachable says why a daemon did not answer.
func (d *Daemon) unreachable(err error) error {
	_, silent := errors.AsType[*api.ConnectionError](err)
	switch {
	case !silent:
		return fmt.Errorf("the Docker daemon at %s: %w", d.Host, err)
	case errors.Is(err, syscall.EINVAL): // what the kernel says of such a path
		return fmt.Errorf("the path of the Docker daemon's socket, %s, is too long for a socket; let DOCKER_HOST name a shorter one, such as a link to it", d.Host)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission to use the Docker daemon at %s: join its group, for instance with: sudo usermod -aG docker \"$USER\" "+
			"(and log in again; members of that group can become root), or use a rootless daemon", d.Host)
	}
	start := "docker desktop start"
	if runtime.GOOS == "linux" {
		start = "systemctl start docker"
	}
	return fmt.Errorf("cannot reach the Docker daemon at %s: start it, for instance with: %s", d.Host, start)
}
