//go:build root && linux

package docker

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	testdaemon "github.com/perstack-go/perstack/internal/testkit/daemon"
)

// Finding T17: another container on the outer network sends packets for the proxy's inner
// address to its outer one. The kernel takes them, and the proxy refuses who sent them.
func TestRootOtherContainersCannotUseTheProxy(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "nsenter", "ip", "curl")
	d := realDaemon(t)
	name := testdaemon.Name(t)
	if _, err := moby(t, d).NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "bridge"}); err != nil {
		t.Fatal(err)
	}
	testdaemon.RemoveNetwork(t, moby(t, d), name)
	plan := testPlan(t)
	plan.image = testdaemon.Image(t, map[string]string{binaryPath: testdaemon.Program(t, "./cmd/perstack")})
	plan.container().Network = name
	s, notes := buildSite(t, d, plan)
	at := lookUp(t, d, s)
	in := s.listeners[0]

	other := startOther(t, d, name)
	if out, err := other("ip", "route", "add", at.inner.String(), "via", at.outer.String()); err != nil {
		t.Fatalf("change the network of a container: %v: %s", err, out)
	}
	// The answer to a request with the right token says that the host is not allowed.
	out, err := other("curl", "--silent", "--show-error", "--max-time", "30", "--proxy", "http://"+in.Address, "--proxy-user", egress.TokenUser+":"+in.Token, "https://example.com")
	if err == nil || strings.Contains(out, "403") || !strings.Contains(out, "Proxy CONNECT aborted") && !strings.Contains(out, "Connection reset") {
		t.Errorf("the other container was answered: %v: %s", err, out)
	}
	refused := notes.until(t, func(b event.Body) bool { _, ok := b.(event.ProxyAccess); return ok }).(event.ProxyAccess)
	if refused.Action != "blocked" || refused.Reason != egress.ReasonClient || refused.Listener != in.Name {
		t.Errorf("reported: %+v", refused)
	}
	attack.Held(t, "T17", 1)
}

// startOther starts a container on a network, and returns what runs a program of this
// machine there.
func startOther(t *testing.T, d *Daemon, network string) func(args ...string) (string, error) {
	t.Helper()
	docker := moby(t, d)
	made, err := docker.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: jailImage(t), Entrypoint: []string{binaryPath, "wait"}, OpenStdin: true},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(network)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := docker.ContainerRemove(context.WithoutCancel(t.Context()), made.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	if _, err := docker.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	found, err := docker.ContainerInspect(t.Context(), made.ID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(found.Container.State.Pid)
	return func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--target", pid, "--net"}, args...)...).CombinedOutput()
		return string(out), err
	}
}
