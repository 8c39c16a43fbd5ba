//go:build linux

package docker

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/probe"
)

// TestEgressProgram runs perstack egress as a program of its own, beside a probe that
// sends it everything hostile. There is no isolation here: what counts is what the proxy says,
// reports and dials.
func TestEgressProgram(t *testing.T) {
	t.Parallel()
	w := need(t)
	api := daemon.Need(t)
	dir := t.TempDir()
	tag := strings.ToLower(rand.Text()[:8])
	c := probe.Config{
		Tag: tag, Phase: "alone", Group: probe.GroupProxy, Web: w.Web.String(), LLM: w.LLMAddr.String(), Trap: w.Trap.String(), DNS: w.DNS,
		Provider: provider, Other: otherHost(tag), Out: "/probe/results.json",
	}
	token := rand.Text()
	policy := encode(t, egress.ProxyConfig{Listeners: []egress.Listener{{Name: "test", Address: "0.0.0.0:3128", Allow: c.Allowed(), Token: token}}})
	for name, data := range map[string][]byte{"policy.json": policy, "config.json": encode(t, c)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	image := daemon.Image(t, map[string]string{"/perstack": daemon.Binary(t), "/probed": shared.probed})
	begin := func(env []string, entry ...string) string {
		created, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name:   daemon.Name(t),
			Config: &container.Config{Image: image, User: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), WorkingDir: "/probe", Env: env, Entrypoint: entry},
			HostConfig: &container.HostConfig{
				NetworkMode: container.NetworkMode(w.Network), Binds: []string{dir + ":/probe"}, DNS: []netip.Addr{netip.MustParseAddr(w.DNS)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		daemon.RemoveContainer(t, api, created.ID)
		if _, err := api.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	proxy := begin(nil, "/perstack", "egress", "--policy", "policy.json")
	lines := follow(t, api, proxy)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"ready"`) {
		t.Fatalf("the proxy says %q", lines.Text())
	}
	found, err := api.ContainerInspect(t.Context(), proxy, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address := found.Container.NetworkSettings.Networks[w.Network].IPAddress
	prober := begin([]string{fmt.Sprintf("HTTPS_PROXY=http://perstack:%s@%s:3128", token, address)}, "/probed", "run", "config.json")
	wait := api.ContainerWait(t.Context(), prober, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case end := <-wait.Result:
		if end.StatusCode != 0 {
			t.Fatalf("the probe ended with %d", end.StatusCode)
		}
	case err := <-wait.Error:
		t.Fatal(err)
	}
	// A host that is on no list is the last thing that the proxy hears of.
	if _, err := api.ContainerKill(t.Context(), proxy, client.ContainerKillOptions{Signal: "SIGTERM"}); err != nil {
		t.Fatal(err)
	}
	m := &matrix{project: &project{t: t, world: w}, tag: tag, configs: map[string]probe.Config{"alone" + c.Group: c}, results: map[string][]probe.Result{}, events: map[string][]event.Event{}}
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "perstack: ") {
			continue // that it stops
		}
		var line egress.Line
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("the proxy printed %q: %v", lines.Text(), err)
		}
		if a := line.Access; a != nil {
			m.events["alone"] = append(m.events["alone"], event.Event{Body: access(a)})
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results []probe.Result
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	m.results["alone"+c.Group] = results
	m.checkRows("alone", c.Group)
	m.checkEvents("alone", c.Group, "test")
	m.checkOutside([]string{"alone"}, []string{c.Group})
}

// access is a decision as the journal has it.
func access(a *egress.Access) event.ProxyAccess {
	e := event.ProxyAccess{Action: "blocked", Domain: a.Host, Port: a.Port, Reason: a.Reason, Listener: a.Listener}
	if a.Allowed {
		e.Action = "allowed"
	}
	return e
}

// follow reads what a container prints.
func follow(t *testing.T, api *client.Client, id string) *bufio.Scanner {
	t.Helper()
	logs, err := api.ContainerLogs(t.Context(), id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	t.Cleanup(func() { logs.Close(); reader.Close() })
	go func() {
		_, err := stdcopy.StdCopy(writer, writer, logs)
		writer.CloseWithError(err)
	}()
	return bufio.NewScanner(reader)
}
