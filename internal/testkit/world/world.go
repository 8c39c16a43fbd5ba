package world

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

// A World is an internet.
type World struct {
	Network string // name, for [docker] network
	DNS     string // address of the name server, for [docker] dns
	CA      string // file with the authority's certificate, for PERSTACK_CA_CERTS
	outside.Places

	api   *client.Client
	image string // of the servers
	dir   string
	mu    sync.Mutex
	syncs int64
	ids   map[string]string // of containers, by role
}

// Label is on everything that belongs to a world.
const Label = "dev.perstack.test.world"

// Start makes a world, which is gone when the test ends.
func Start(tb testing.TB) *World {
	tb.Helper()
	w := &World{api: daemon.Need(tb), ids: map[string]string{}}
	program := daemon.Program(tb, "./internal/testkit/world/worldd")
	w.image = daemon.Image(tb, map[string]string{"/worldd": program})
	w.makeDir(tb)
	subnet := w.makeNetwork(tb)
	at := func(last byte) netip.Addr {
		a := subnet.Addr().As4()
		a[3] = last
		return netip.AddrFrom4(a)
	}
	w.Web, w.LLMAddr, w.Relay, w.Trap = at(34), at(35), at(36), at(66)
	w.DNS = at(53).String()
	for role, address := range map[string]netip.Addr{
		outside.RoleDNS: at(53), outside.RoleWeb: w.Web, outside.RoleLLM: w.LLMAddr, outside.RoleTrap: w.Trap,
	} {
		w.ids[role] = w.startServer(tb, role, address)
	}
	for _, id := range w.ids {
		w.read(tb, id, isReady)
	}
	return w
}

func isReady(e outside.Entry) bool { return e.Kind == outside.KindReady }

// makeDir makes the directory that the servers read: the authority, and scripts.
func (w *World) makeDir(tb testing.TB) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "perstack-world-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.dir, w.CA = dir, filepath.Join(dir, "ca.pem")
	certificate, key, err := outside.NewAuthority()
	if err != nil {
		tb.Fatal(err)
	}
	for name, data := range map[string][]byte{"ca.pem": certificate, "ca.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o700); err != nil {
		tb.Fatal(err)
	}
}

// makeNetwork makes a network whose addresses are public by class and chosen at random:
// several worlds share a daemon. The host has no address on it, so that nothing leaves
// it, though it is not an internal one: newer daemons answer no names there.
func (w *World) makeNetwork(tb testing.TB) netip.Prefix {
	tb.Helper()
	w.Network = daemon.Name(tb)
	var last error
	for range 20 {
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{93, byte(rand.IntN(256)), byte(rand.IntN(256)), 0}), 24)
		dynamic := subnet.Addr().As4()
		dynamic[3] = 128
		_, last = w.api.NetworkCreate(tb.Context(), w.Network, client.NetworkCreateOptions{
			Driver: "bridge",
			IPAM:   &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet, IPRange: netip.PrefixFrom(netip.AddrFrom4(dynamic), 25)}}},
			Options: map[string]string{
				"com.docker.network.bridge.inhibit_ipv4": "true", "com.docker.network.bridge.enable_ip_masquerade": "false",
			},
			Labels: map[string]string{Label: w.Network},
		})
		if last == nil {
			daemon.RemoveNetwork(tb, w.api, w.Network)
			return subnet
		}
	}
	tb.Fatalf("no network for the world: %v", last)
	return netip.Prefix{}
}

// startServer starts a server and returns the id of its container.
func (w *World) startServer(tb testing.TB, role string, address netip.Addr) string {
	tb.Helper()
	created, err := w.api.ContainerCreate(tb.Context(), client.ContainerCreateOptions{
		Name: w.Network + "-" + role,
		Config: &container.Config{
			Image: w.image, User: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
			Entrypoint: []string{"/worldd", "-role", role, "-web", w.Web.String(), "-llm", w.LLMAddr.String(), "-relay", w.Relay.String(), "-trap", w.Trap.String()},
			Labels:     map[string]string{Label: w.Network},
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(w.Network),
			Binds:       []string{w.dir + ":/world:ro"},
		},
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			w.Network: {IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: address}},
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	daemon.RemoveContainer(tb, w.api, created.ID)
	if _, err := w.api.ContainerStart(tb.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
		tb.Fatal(err)
	}
	return created.ID
}

// LLM makes a model's service that plays a script, and returns its host. The script has
// to name the key of the run, or none.
func (w *World) LLM(tb testing.TB, script string) string {
	tb.Helper()
	host := strings.TrimPrefix(daemon.Name(tb), "perstack-test-") + "." + outside.LLMZone
	w.Play(tb, host, script)
	return host
}

// Play has a host of the model's service play a script: one below llm.test, or one below
// anthropic.com.
func (w *World) Play(tb testing.TB, host, script string) {
	tb.Helper()
	if _, err := llm.Parse(host, []byte(script)); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "scripts", host+".toml"), []byte(script), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Seen is all that the outside saw so far. What was sent before the call is in it.
func (w *World) Seen(tb testing.TB) []outside.Entry {
	tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncs++
	var all []outside.Entry
	for _, id := range w.ids {
		all = append(all, w.ask(tb, id, w.syncs)...)
	}
	return all
}

// ask returns all that a server saw, when it is asked for the count-th time.
func (w *World) ask(tb testing.TB, id string, count int64) []outside.Entry {
	tb.Helper()
	// The daemon copies what servers print some time later. A server that is told to
	// prints a last line; with that, all before it is here.
	if _, err := w.api.ContainerKill(tb.Context(), id, client.ContainerKillOptions{Signal: "SIGHUP"}); err != nil {
		tb.Fatal(err)
	}
	return w.read(tb, id, func(e outside.Entry) bool { return e.Kind == outside.KindSync && e.Count == count })
}

// read returns what a server printed, up to an entry that is waited for.
func (w *World) read(tb testing.TB, id string, until func(outside.Entry) bool) []outside.Entry {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	logs, err := w.api.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer logs.Close()
	reader, writer := io.Pipe()
	var stderr strings.Builder
	go func() {
		_, err := stdcopy.StdCopy(writer, &stderr, logs)
		writer.CloseWithError(err)
	}()
	defer reader.Close()
	var all []outside.Entry
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var e outside.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			tb.Fatalf("the server %.12s printed %q: %v", id, lines.Text(), err)
		}
		all = append(all, e)
		if until(e) {
			return all
		}
	}
	tb.Fatalf("the server %.12s ended, or said too little: %v %s", id, lines.Err(), stderr.String())
	return nil
}
