//go:build linux

package attack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// Without sandboxes, a attacker gets everything: what is denied in a sandbox is not denied
// because the attempt is wrong.
func TestAttacksWorkWithoutSandbox(t *testing.T) {
	api := daemon.Need(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // the container has another user
		t.Fatal(err)
	}
	image := daemon.Image(t, map[string]string{"/bin/attackd": daemon.Program(t, "./internal/testkit/attack/attackd")})
	created, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: daemon.Name(t),
		Config: &container.Config{
			Image: image, User: "1000:1000", WorkingDir: "/out", Entrypoint: []string{"/bin/attackd", "pair", "/out/results.json"},
			Env: []string{attack.SecretVariable + "=hush", "HOME=/tmp", "HTTPS_PROXY=http://perstack:token@127.0.0.1:9"},
		},
		HostConfig: &container.HostConfig{NetworkMode: "none", Binds: []string{dir + ":/out"}, CapAdd: []string{"SYS_PTRACE"}, SecurityOpt: []string{"seccomp=unconfined"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, api, created.ID)
	wait := api.ContainerWait(t.Context(), created.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := api.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case end := <-wait.Result:
		if end.StatusCode != 0 {
			t.Fatalf("it ended with %d", end.StatusCode)
		}
	case err := <-wait.Error:
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results []attack.Result
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, r := range results {
		switch {
		case strings.HasPrefix(r.Attack, "place:") && r.Outcome == attack.Absent: // of a container of ours
			continue
		case r.Attack == "debug its parent" || r.Attack == "debug the engine": // which are the attacker itself here
			continue
		}
		if strings.HasPrefix(r.Attack, "control") {
			if !r.Holds() {
				t.Errorf("%s: %s %s", r.Attack, r.Outcome, r.Detail)
			}
			continue
		}
		open++
		if r.Holds() {
			t.Errorf("%s: %s without a sandbox: %s", r.Attack, r.Outcome, r.Detail)
		}
	}
	if open < 80 {
		t.Errorf("only %d attacks", open)
	}
}

func TestHide(t *testing.T) {
	if h := attack.Hide("marker"); strings.Contains(h, "marker") || h == attack.Hide("other!") {
		t.Errorf("hidden: %q", h)
	}
}
