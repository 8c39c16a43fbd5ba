//go:build linux

package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// lingering is a script whose first turn runs a command that waits, so that there is
// time to look at the container.
func lingering(t *testing.T) string {
	t.Helper()
	return "[[turn]]\n" + command(t, "./probed", "linger", "lingers") + "[[turn]]\ntext = \"Waited.\"\n"
}

// awaitLingering waits until the command runs.
func (p *project) awaitLingering(s *started) {
	p.t.Helper()
	s.mustAwait(`"type":"callTools"`)
	for {
		if _, err := os.Stat(filepath.Join(p.dir, "lingers")); err == nil {
			return
		}
		if p.t.Context().Err() != nil || s.ended() {
			p.t.Fatalf("the command never ran\n%s", s.stderr())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

const worker = "[experts.worker]\ninstruction = \"Work.\"\n"

// TestHardening looks at the containers and networks of a run from outside, while a
// command runs in it. What they look like from inside is in TestEgressMatrix.
func TestHardening(t *testing.T) {
	t.Parallel()
	// With the fewest processes that the file may allow, a command still starts.
	p := newProject(t, "memory = 268435456\nmemoryReservation = 67108864\ncpus = 1.5\npids = 64\ntmpSize = 8388608\ncacheSize = 4194304\n", map[string]string{"perstack.toml": worker})
	p.serve(lingering(t))
	job := p.job()
	s := p.start("worker", "go", "--job-id", job)
	p.awaitLingering(s)
	site := inspect(t, job)
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.end(); code != 130 {
		t.Errorf("exit code %d\n%s", code, s.stderr())
	}

	for _, c := range site.containers {
		checkContainer(t, c)
	}
	runtime, proxy := site.find(t, "runtime"), site.find(t, "proxy")
	h := runtime.HostConfig
	if h.Memory != 256<<20 || h.MemorySwap != 256<<20 || h.MemoryReservation != 64<<20 || h.NanoCPUs != 1_500_000_000 || h.PidsLimit == nil || *h.PidsLimit != 64 {
		t.Errorf("K3: limits of the runtime: %+v", h.Resources)
	}
	if !strings.Contains(h.Tmpfs["/tmp"], "size=8388608") || !strings.Contains(h.Tmpfs["/home/perstack"], "size=4194304") {
		t.Errorf("K6: tmpfs of the runtime: %v", h.Tmpfs)
	}
	if proxy.HostConfig.Memory <= 0 || proxy.HostConfig.PidsLimit == nil || *proxy.HostConfig.PidsLimit <= 0 {
		t.Errorf("K3: the proxy has no limits: %+v", proxy.HostConfig.Resources)
	}
	// K4: the workspace is the only thing of the host that the runtime sees; the proxy sees nothing.
	if len(proxy.Mounts) != 0 || len(proxy.HostConfig.Mounts)+len(proxy.HostConfig.Binds) != 0 {
		t.Errorf("K4: mounts of the proxy: %+v", proxy.Mounts)
	}
	if len(runtime.Mounts) != 1 || runtime.Mounts[0].Type != mount.TypeBind || runtime.Mounts[0].Destination != "/workspace" || !sameFile(t, runtime.Mounts[0].Source, p.dir) {
		t.Errorf("K4: mounts of the runtime: %+v", runtime.Mounts)
	}
	// N1: the runtime is on one network, which is internal and has no address of the host.
	if len(runtime.NetworkSettings.Networks) != 1 || len(proxy.NetworkSettings.Networks) != 2 {
		t.Errorf("N1: networks of the runtime %v, of the proxy %v", runtime.NetworkSettings.Networks, proxy.NetworkSettings.Networks)
	}
	for name := range runtime.NetworkSettings.Networks {
		n := site.network(t, name)
		if !n.Internal || n.EnableIPv6 || n.Driver != "bridge" || n.Options["com.docker.network.bridge.inhibit_ipv4"] != "true" {
			t.Errorf("N1: the network of the runtime: %+v", n)
		}
	}
	if _, ok := proxy.NetworkSettings.Networks[p.world.Network]; !ok {
		t.Errorf("the proxy is not on the network that perstack.toml names: %v", proxy.NetworkSettings.Networks)
	}
	if runtime.Config.User == proxy.Config.User {
		t.Errorf("the proxy runs as the owner of the workspace: %s", proxy.Config.User)
	}
	if info, err := os.Stat(p.dir); err == nil {
		st := info.Sys().(*syscall.Stat_t)
		if want := fmt.Sprintf("%d:%d", st.Uid, st.Gid); runtime.Config.User != want {
			t.Errorf("K2: the runtime runs as %q, the workspace belongs to %s", runtime.Config.User, want)
		}
	}
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// checkContainer checks K1 to K4 and K7 for both containers.
func checkContainer(t *testing.T, c container.InspectResponse) {
	t.Helper()
	h, name := c.HostConfig, c.Name
	for what, ok := range map[string]bool{
		"K1 all capabilities dropped":     len(h.CapDrop) == 1 && strings.EqualFold(h.CapDrop[0], "ALL") && len(h.CapAdd) == 0,
		"K1 no new privileges":            slices.ContainsFunc(h.SecurityOpt, func(s string) bool { return strings.HasPrefix(s, "no-new-privileges") }),
		"K1 the default seccomp profile":  !slices.ContainsFunc(h.SecurityOpt, func(s string) bool { return strings.Contains(s, "unconfined") }),
		"K1 not privileged":               !h.Privileged,
		"K2 not root":                     c.Config.User != "" && c.Config.User != "0" && !strings.HasPrefix(c.Config.User, "0:") && !strings.HasPrefix(c.Config.User, "root"),
		"K2 a root that is read only":     h.ReadonlyRootfs,
		"K2 no extra groups":              len(h.GroupAdd) == 0,
		"K4 no devices":                   len(h.Devices)+len(h.DeviceRequests)+len(h.DeviceCgroupRules) == 0,
		"K4 no namespaces of the host":    !h.PidMode.IsHost() && !h.IpcMode.IsHost() && !h.UTSMode.IsHost() && !h.NetworkMode.IsHost() && !h.UsernsMode.IsHost() && h.PidMode == "",
		"K4 no shared memory of others":   h.IpcMode == "none" || h.IpcMode == "private",
		"K4 no ports of the host":         len(h.PortBindings) == 0 && !h.PublishAllPorts,
		"K4 no volumes of others":         len(h.VolumesFrom)+len(h.Binds) == 0 && len(c.Config.Volumes) == 0,
		"K4 no links to others":           len(h.Links)+len(h.ExtraHosts) == 0,
		"K7 no log that the daemon keeps": h.LogConfig.Type == "none",
		"K7 no variables but harmless":    !slices.ContainsFunc(c.Config.Env, func(v string) bool { return !isHarmless(v) }),
		"K8 it does not start again":      h.RestartPolicy.Name == "" || h.RestartPolicy.Name == "no",
		"K2 no core dumps":                slices.ContainsFunc(h.Ulimits, func(u *container.Ulimit) bool { return u.Name == "core" && u.Hard == 0 }),
		"K1 the kernel's files masked":    slices.Contains(h.MaskedPaths, "/proc/kcore") && slices.Contains(h.ReadonlyPaths, "/proc/sys"),
	} {
		if !ok {
			t.Errorf("%s: %s: %+v", name, what, h)
		}
	}
}

// A site is what a job has on the daemon.
type site struct {
	containers []container.InspectResponse
	networks   []network.Inspect
	raw        []byte // all of it, as the daemon says it
}

// inspect asks the daemon for all that a job has.
func inspect(t *testing.T, job string) site {
	t.Helper()
	api := daemon.Need(t)
	var s site
	filter := make(client.Filters).Add("label", jobLabel(job))
	containers, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Items {
		found, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.containers = append(s.containers, found.Container)
		s.raw = append(s.raw, found.Raw...)
	}
	networks, err := api.NetworkList(t.Context(), client.NetworkListOptions{Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		found, err := api.NetworkInspect(t.Context(), n.ID, client.NetworkInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.networks = append(s.networks, found.Network)
		s.raw = append(s.raw, found.Raw...)
	}
	if len(s.containers) != 2 || len(s.networks) == 0 {
		t.Fatalf("the job has %d containers and %d networks", len(s.containers), len(s.networks))
	}
	return s
}

// find returns a container by what it is: the runtime is the one with the workspace.
func (s site) find(t *testing.T, service string) container.InspectResponse {
	t.Helper()
	for _, c := range s.containers {
		if (len(c.Mounts) > 0) == (service == "runtime") {
			return c
		}
	}
	t.Fatalf("there is no container %s", service)
	return container.InspectResponse{}
}

func (s site) network(t *testing.T, name string) network.Inspect {
	t.Helper()
	for _, n := range s.networks {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("the network %s does not belong to the job", name)
	return network.Inspect{}
}

// isHarmless reports whether a variable of a container tells nothing of the run: where
// programs are, and which authorities perstack trusts.
func isHarmless(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{"PATH", "HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"}, name)
}
