//go:build linux

package docker

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// In a container, what its profiles forbid decides which sandbox perstack can make inside, and
// doctor names the step that is forbidden.
func TestDoctorInContainers(t *testing.T) {
	image := daemon.Image(t, map[string]string{"/perstack": daemon.Binary(t)})
	const filterOff = "seccomp=unconfined"
	for name, tt := range map[string]struct {
		config container.HostConfig
		user   string
		want   map[string]string // status of checks
	}{
		"default": {
			want: map[string]string{"sandbox": "warn", "sandbox.namespaces": "warn", "sandbox.mounts": "info", "sandbox.landlock": "ok"},
		},
		"no filter": {
			config: container.HostConfig{SecurityOpt: []string{filterOff}},
			want:   map[string]string{"sandbox": "warn", "sandbox.namespaces": "ok", "sandbox.mounts": "ok", "sandbox.proc": "warn"},
		},
		"no filter, whole proc": {
			config: container.HostConfig{SecurityOpt: []string{filterOff}, MaskedPaths: []string{}, ReadonlyPaths: []string{}},
			want:   map[string]string{"sandbox": "ok", "sandbox.proc": "ok", "sandbox.network": "ok"},
		},
		"the same, ordinary user": {
			config: container.HostConfig{SecurityOpt: []string{filterOff}, MaskedPaths: []string{}, ReadonlyPaths: []string{}},
			user:   "1000:1000",
			want:   map[string]string{"sandbox": "ok", "sandbox.proc": "ok", "sandbox.network": "ok"},
		},
		"root without capabilities": {
			config: container.HostConfig{SecurityOpt: []string{filterOff}, MaskedPaths: []string{}, ReadonlyPaths: []string{}, CapDrop: []string{"ALL"}},
			want:   map[string]string{"sandbox": "warn", "sandbox.namespaces": "ok", "sandbox.ids": "warn"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := inContainer(t, tt.config, container.Config{Image: image, User: tt.user, Env: []string{"HOME=/tmp"}, Cmd: []string{"/perstack", "doctor", "--json"}})
			var report struct {
				Checks []struct{ ID, Status, Detail string }
			}
			if err := json.Unmarshal([]byte(out), &report, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			found := 0
			for _, c := range report.Checks {
				if want, ok := tt.want[c.ID]; ok {
					found++
					if c.Status != want {
						t.Errorf("%s: %s, want %s: %s", c.ID, c.Status, want, c.Detail)
					}
				}
			}
			if found != len(tt.want) {
				t.Errorf("%d of %d checks in %s", found, len(tt.want), out)
			}
		})
	}
}

// inContainer runs a container without a network and returns what it wrote.
func inContainer(t *testing.T, host container.HostConfig, config container.Config) string {
	t.Helper()
	api := daemon.Need(t)
	host.NetworkMode = "none"
	created, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), HostConfig: &host, Config: &config})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, api, created.ID)
	wait := api.ContainerWait(t.Context(), created.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := api.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-wait.Result:
	case err := <-wait.Error:
		t.Fatal(err)
	}
	logs, err := api.ContainerLogs(t.Context(), created.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, logs); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
