//go:build linux

package probe_test

import (
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/probe"
	"github.com/perstack-go/perstack/internal/testkit/world"
)

// In a container without isolation, the probe gets out, finds secrets and becomes whatever it
// wants: the rows that pass in an isolated container can fail. Those about the proxy need
// one, and are the other way round in the tests of package egress.
func TestProbeWithoutIsolation(t *testing.T) {
	w := world.Start(t)
	api := daemon.Need(t)
	dir := t.TempDir()
	const marker = "cAnArY-of-the-probe"
	c := probe.Config{
		Tag: "tag", Phase: "open", Web: w.Web.String(), LLM: w.LLMAddr.String(), Trap: w.Trap.String(), DNS: w.DNS, Provider: "api.anthropic.com", Other: "other.open.test",
		Machine: []string{w.Web.String()}, Port: 80, Marker: probe.Flip([]byte(marker)), Out: "/probe/results.json",
		Limits: probe.Limits{Memory: 1 << 20, PIDs: 30, Tmp: 1 << 20, Cache: 1 << 20},
	}
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.json": string(config), ".env": "A=" + marker, "perstack.toml": "x = 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	image := daemon.Image(t, map[string]string{"/probed": daemon.Program(t, "./internal/testkit/probe/probed"), "/etc/shadow": filepath.Join(dir, ".env"), "/home/perstack/.ssh/id_rsa": filepath.Join(dir, ".env")})
	run(t, api, client.ContainerCreateOptions{
		Name: daemon.Name(t),
		Config: &container.Config{
			Image: image, User: "0:0", WorkingDir: "/probe", Env: []string{"SECRET=" + marker},
			Entrypoint: []string{"/probed", "run", "config.json"},
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(w.Network), Binds: []string{dir + ":/probe"}, SecurityOpt: []string{"seccomp=unconfined"}, DNS: addresses(t, w.DNS),
		},
	})
	data, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results []probe.Result
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	got := map[string]probe.Result{}
	for _, r := range results {
		got[r.Row] = r
	}
	bad := strings.Fields("tcp-outside tcp-provider udp-outside host-tcp other-hosts icmp raw-socket " +
		"resolve-outside resolve-allowed dns-udp dns-tcp dns-docker dns-docker-text " +
		"environment files shadow ssh env-file link-env freeze " +
		"capabilities privileges uid setuid chroot device write-root mounts tmp-size home-size core forks")
	for _, row := range probe.Rows(c) {
		for _, id := range bad {
			if row.ID == id && row.Holds(got[id]) {
				t.Errorf("%s: in a container without isolation: %+v", id, got[id])
			}
		}
	}
	for _, id := range bad {
		if got[id].Outcome == "" || got[id].Outcome == probe.Broken {
			t.Errorf("%s: %+v", id, got[id])
		}
	}
}

// run starts a container and waits for its end.
func run(t *testing.T, api *client.Client, options client.ContainerCreateOptions) {
	t.Helper()
	created, err := api.ContainerCreate(t.Context(), options)
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
			t.Fatalf("the probe ended with %d: %s", end.StatusCode, said(t, api, created.ID))
		}
	case err := <-wait.Error:
		t.Fatal(err)
	}
}

func addresses(t *testing.T, text string) []netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return []netip.Addr{a}
}

// said is what a container printed.
func said(t *testing.T, api *client.Client, id string) string {
	t.Helper()
	logs, err := api.ContainerLogs(t.Context(), id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return err.Error()
	}
	defer logs.Close()
	data, _ := io.ReadAll(io.LimitReader(logs, 10_000))
	return string(data)
}
