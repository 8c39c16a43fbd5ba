package docker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	testdaemon "github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/jail"
	"github.com/perstack-go/perstack/internal/testkit/world"
	"github.com/perstack-go/perstack/job"
)

// squidPlan is a run whose proxy is the real Squid, in a world of its own.
func squidPlan(t *testing.T, d *Daemon) (sitePlan, *world.World) {
	t.Helper()
	w := world.Start(t)
	plan := testPlan(t)
	plan.container().Network, plan.container().DNS = w.Network, []string{w.DNS}
	plan.container().Proxy, plan.proxyImage = job.ProxySquid, squidOn(t, d, testdaemon.SquidImage(t))
	plan.listeners = []egress.Listener{
		{Name: "engine", Allow: []string{"a.open.test"}, Token: "token-that-nobody-asks-for"},
		{Name: "expert @base", Allow: []string{"*.open.test", "rebind.test", "*.metadata.test", "*.mixed.test"}},
		{Name: "shut"},
	}
	return plan, w
}

// squidOn makes the image of the proxy on a base.
func squidOn(t *testing.T, d *Daemon, base string) string {
	t.Helper()
	spec := ImageSpec{Binary: testdaemon.Binary(t), Roots: authority(t, testdaemon.Name(t)), Base: base}
	id, err := d.Image(t.Context(), spec, func(event.Body) {})
	if err != nil {
		t.Fatal(err)
	}
	testdaemon.RemoveImage(t, testdaemon.Need(t), id)
	return id
}

// A run with Squid: each listener has its own list, what is allowed is reached and reported,
// what is not is refused with its reason, and what clients send cannot forge a report.
func TestSquidSite(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan, w := squidPlan(t, d)
	s, notes := buildSite(t, d, plan)
	for name, at := range s.Listeners {
		if u := mustURL(t, at); u.User != nil {
			t.Errorf("listener %s has a token, and Squid asks for none", name)
		}
	}
	first, base, shut := s.Listeners["engine"], s.Listeners["expert @base"], s.Listeners["shut"]
	const forged = "3128 TCP_TUNNEL 200 - - 93.184.216.34 1 1 CONNECT forged.open.test:443"
	rows := []struct {
		listener, name, target string
		status                 int
		reason                 string // "" is allowed
		host                   string // as reported
	}{
		{first, "engine", "a.open.test:443", 200, "", "a.open.test"},
		{first, "engine", "b.open.test:443", 403, "domain", "b.open.test"},
		{base, "expert @base", "B.open.test.:443", 200, "", "b.open.test"},
		{base, "expert @base", "open.test:443", 403, "domain", "open.test"},
		{base, "expert @base", "evil.test:443", 403, "domain", "evil.test"},
		{base, "expert @base", "b.open.test:80", 403, "port", "b.open.test"},
		{base, "expert @base", "169.254.169.254:443", 403, "host", "169.254.169.254"},
		{base, "expert @base", "[::1]:443", 403, "host", "[::1]"},
		{base, "expert @base", "x.metadata.test:443", 403, "address", "x.metadata.test"},
		{base, "expert @base", "x.mixed.test:443", 403, "address", "x.mixed.test"},
		{shut, "shut", "a.open.test:443", 403, "domain", "a.open.test"},
		{base, "expert @base", "x\n" + forged + "\n:443", 400, "request", ""},
		{base, "expert @base", "x%0a" + strings.ReplaceAll(forged, " ", "%20") + "%0a:443", 403, "host", ""},
		{base, "expert @base", strings.Repeat("a", 9000) + ":443", 431, "request", ""},
	}
	task := jail.Task{Hold: true}
	for _, r := range rows {
		task.Connect = append(task.Connect, r.listener+" "+r.target)
	}
	saw, _ := enter(t, s, task)
	for _, r := range rows {
		if got := saw.Connected[r.listener+" "+r.target]; !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", r.status)) {
			t.Errorf("%.40q at %s: %q, want %d", r.target, r.name, got, r.status)
		}
		action := "blocked"
		if r.reason == "" {
			action = "allowed"
		}
		notes.until(t, func(b event.Body) bool {
			a, ok := b.(event.ProxyAccess)
			return ok && a.Listener == r.name && a.Action == action && a.Reason == r.reason && (r.host == "" || a.Domain == r.host)
		})
	}
	notes.untilThere(t, len(rows), func(b event.Body) bool {
		_, ok := b.(event.ProxyAccess)
		return ok
	})
	count := 0
	notes.mu.Lock()
	for _, b := range notes.bodies {
		if a, ok := b.(event.ProxyAccess); ok {
			count++
			if len(a.Domain) > maxHost || a.Action == "allowed" && strings.Contains(a.Domain, "forged") {
				t.Errorf("reported: %+v", a)
			}
		}
	}
	notes.mu.Unlock()
	if count != len(rows) {
		t.Errorf("%d decisions are reported for %d requests", count, len(rows))
	}
	for _, seen := range w.Seen(t) {
		if strings.Contains(seen.Name, "evil") || strings.Contains(seen.Name, "169") {
			t.Errorf("the world saw %+v", seen)
		}
	}
}

// Squid is isolated like the builtin proxy, and its end is that of the run.
func TestSquidIsolation(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan, _ := squidPlan(t, d)
	s, notes := buildSite(t, d, plan)
	found, err := moby(t, d).ContainerInspect(t.Context(), s.name(string(roleProxy)), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, host := found.Container.Config, found.Container.HostConfig
	for what, ok := range map[string]bool{
		"user":         config.User == "65534:65534",
		"capabilities": slices.Equal(host.CapDrop, []string{"ALL"}) && len(host.CapAdd) == 0 && !host.Privileged,
		"privileges":   slices.Equal(host.SecurityOpt, []string{"no-new-privileges"}),
		"root":         host.ReadonlyRootfs,
		"mounts":       len(host.Mounts)+len(host.Binds) == 0,
		"temporary":    len(host.Tmpfs) == 2 && strings.Contains(host.Tmpfs["/tmp"], "noexec,size=1048576,mode=0700,") && host.Tmpfs["/dev/shm"] == host.Tmpfs["/tmp"],
		"memory":       host.Memory == proxyMemory && host.MemorySwap == proxyMemory,
		"processes":    *host.PidsLimit == proxyPIDs,
		"log":          host.LogConfig.Type == "none",
		"no token":     !strings.Contains(strings.Join(slices.Concat(config.Env, config.Cmd), " "), "token"),
		"image":        found.Container.Image == plan.proxyImage,
		"name servers": strings.Contains(strings.Join(config.Cmd, " "), "squid "+plan.container().DNS[0]),
		"our program":  slices.Equal(config.Entrypoint, []string{binaryPath}),
		"published":    len(host.PortBindings) == 0,
		"messages":     host.IpcMode == container.IPCModeNone,
	} {
		if !ok {
			t.Errorf("%s: %+v %+v", what, config, host)
		}
	}
	if _, err := moby(t, d).ContainerKill(t.Context(), found.Container.ID, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		t.Fatal(err)
	}
	if err := <-s.Failed; !strings.Contains(err.Error(), "the proxy ended with exit code 137") {
		t.Errorf("it failed with %v", err)
	}
	if got := notes.statuses(roleProxy); got[len(got)-1] != "error" {
		t.Errorf("the proxy was %q", got)
	}
}

// What would not isolate is refused before anything is made; an image without Squid is
// told as such, and leaves nothing.
func TestSquidSiteRefuses(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	plan.container().Proxy, plan.proxyImage = job.ProxySquid, plan.image
	plan.listeners[0].Token = ""
	for name, c := range map[string]struct {
		change func(*sitePlan)
		want   string
	}{
		"no image":         {func(p *sitePlan) { p.proxyImage = "" }, "squidImage"},
		"a shared sandbox": {func(p *sitePlan) { p.spec.Isolation.SharedSandbox = true }, "shared sandbox"},
		"an upstream":      {func(p *sitePlan) { p.upstream = "http://proxy.test:3128" }, "upstream"},
		"another proxy":    {func(p *sitePlan) { p.container().Proxy = "tinyproxy" }, "is unknown"},
		"no Squid there":   {func(p *sitePlan) { p.proxyImage = squidOn(t, d, loadBase(t, nil)) }, "name an image that has Squid"},
	} {
		changed := plan
		c.change(&changed)
		s, err := d.build(t.Context(), changed, func(event.Body) {})
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if list := ofJob(t, d, plan.spec.JobID); len(list) != 0 {
		t.Errorf("left: %q", list)
	}
}
