package inside

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// A site is real isolation: a network without a host, the proxy on it, and the container that
// the command runs in. The Docker runtime builds its own; this one can be built wrong.
type site struct {
	t     *testing.T
	api   *client.Client
	image string
	work  string

	network string
	gateway netip.Addr
	proxy   string // address of the proxy
}

// owner is the user that commands run as.
const owner = 65534

// closed are the options of a network that the host has no address on.
func closed() client.NetworkCreateOptions {
	return client.NetworkCreateOptions{
		Driver: "bridge", Internal: true, EnableIPv6: new(bool), Options: map[string]string{"com.docker.network.bridge.inhibit_ipv4": "true"},
	}
}

func newSite(t *testing.T, image string, options client.NetworkCreateOptions) *site {
	t.Helper()
	s := &site{t: t, api: daemon.Need(t), image: image, work: t.TempDir()}
	// The parents of a directory for tests are for its user alone.
	if err := os.Chmod(s.work, 0o777); err != nil {
		t.Fatal(err)
	}
	history := filepath.Join(s.work, "perstack")
	if err := os.MkdirAll(history, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(history, "journal"), []byte("the user's"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.connect(options)
	return s
}

// connect makes a network, and puts the proxy on it.
func (s *site) connect(options client.NetworkCreateOptions) {
	s.t.Helper()
	ctx := s.t.Context()
	name := daemon.Name(s.t)
	if _, err := s.api.NetworkCreate(ctx, name, options); err != nil {
		s.t.Fatal(err)
	}
	daemon.RemoveNetwork(s.t, s.api, name)
	found, err := s.api.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.network = name
	for _, c := range found.Network.IPAM.Config {
		if c.Gateway.Is4() {
			s.gateway = c.Gateway
		}
	}

	policy, err := json.Marshal(egress.ProxyConfig{Listeners: []egress.Listener{{Name: "engine", Address: "0.0.0.0:4000", Token: "token-of-the-engine"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	ready, lines := io.Pipe()
	input, hold := io.Pipe() // it runs until its input ends
	s.t.Cleanup(func() { hold.Close() })
	o := s.options()
	o.Config.Cmd = ProxyArgs()
	id := s.create(o)
	go func() { _ = s.start(id, input, lines) }()
	go func() { _, _ = hold.Write(append(policy, '\n')) }()
	if _, err := ready.Read(make([]byte, 4096)); err != nil {
		s.t.Fatal(err)
	}
	go io.Copy(io.Discard, ready)
	seen, err := s.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.proxy = seen.Container.NetworkSettings.Networks[name].IPAddress.String()
}

// options are those of a container with all safeguards.
func (s *site) options() client.ContainerCreateOptions {
	return client.ContainerCreateOptions{
		Name: daemon.Name(s.t),
		Config: &container.Config{
			Image: s.image, User: fmt.Sprintf("%d:%d", owner, owner), Entrypoint: []string{Program}, Cmd: EngineArgs(),
			AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(s.network), DNS: []netip.Addr{netip.MustParseAddr("127.0.0.1")},
			CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true,
			Tmpfs:       map[string]string{"/tmp": "mode=1777", homeDir: fmt.Sprintf("mode=0700,uid=%d,gid=%d", owner, owner)},
			MaskedPaths: []string{"/proc/kcore", "/proc/keys", "/workspace/perstack"},
			Mounts:      []mount.Mount{{Type: mount.TypeBind, Source: s.work, Target: "/workspace"}},
		},
	}
}

func (s *site) create(o client.ContainerCreateOptions) string {
	s.t.Helper()
	created, err := s.api.ContainerCreate(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	daemon.RemoveContainer(s.t, s.api, created.ID)
	return created.ID
}

// start runs a container to its end. Its exit code, if that is not 0, is an error.
func (s *site) start(id string, input io.Reader, output io.Writer) error {
	ctx := s.t.Context()
	attached, err := s.api.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	defer attached.Close()
	wait := s.api.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := s.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(attached.Conn, input)
		_ = attached.CloseWrite()
	}()
	var stderr strings.Builder
	if _, err := stdcopy.StdCopy(output, &stderr, attached.Reader); err != nil {
		return err
	}
	select {
	case end := <-wait.Result:
		if end.StatusCode != 0 {
			return fmt.Errorf("exit code %d: %s", end.StatusCode, stderr.String())
		}
		return nil
	case err := <-wait.Error:
		return err
	}
}

// works is a cassette that uses a program of the image.
const works = `
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "/bin/evil", args = ["--help"] }
[[turn]]
text = "done"
`

// document describes a job for the container.
func (s *site) document() *hostlink.Document {
	d := document(s.t, alone, works)
	d.Addresses = hostlink.Addresses{
		Workspace: "/workspace", Hidden: []string{"/workspace/perstack"}, Environ: []string{"PATH=/"}, Gateway: s.gateway.String(),
	}
	d.Secrets.Proxy = "http://perstack:token-of-the-engine@" + s.proxy + ":4000"
	return d
}

// The command where it belongs: as the first process of a real container.
func TestContainer(t *testing.T) {
	daemon.Need(t)
	image := daemon.Image(t, map[string]string{Program: daemon.Binary(t), "/bin/evil": daemon.Program(t, "./internal/testkit/evil/evilmcp")})
	t.Run("EachSafeguard", func(t *testing.T) { eachSafeguard(t, image) })
	t.Run("InternalNetworkIsNotEnough", func(t *testing.T) { internalNetwork(t, image) })
	t.Run("NetworkWithIPv6", func(t *testing.T) { networkWithIPv6(t, image) })
	t.Run("FirstProcess", func(t *testing.T) { firstProcess(t, image) })
}

// A change is what a test does to a safeguard.
type change struct {
	host     *container.HostConfig
	config   *container.Config
	document *hostlink.Document
}

// withoutLandlock has a filter say of the system calls of sandboxes what an old kernel says.
func withoutLandlock(c change) {
	c.host.SecurityOpt = append(c.host.SecurityOpt, `seccomp={"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["landlock_create_ruleset","landlock_add_rule","landlock_restrict_self"],"action":"SCMP_ACT_ERRNO","errnoRet":38}]}`)
}

// In a container with all safeguards the job runs; take one away, and the self-test names it
// and nothing runs.
func eachSafeguard(t *testing.T, image string) {
	s := newSite(t, image, closed())
	for _, c := range []struct {
		missing string // the check that fails; empty if none does
		name    string
		change  func(change)
		also    bool // others may fail too
	}{
		{"", "all safeguards", func(change) {}, false},
		{"", "a read-only workspace", func(c change) {
			c.host.Mounts[0].ReadOnly, c.document.Addresses.ReadOnlyWorkspace = true, true
		}, false},
		{"user", "root", func(c change) { c.config.User = "0:0" }, false},
		{"user", "the group of root", func(c change) { c.config.User = fmt.Sprint(owner) + ":0" }, false},
		{"capabilities", "the default capabilities", func(c change) { c.host.CapDrop = nil }, false},
		{"capabilities", "one capability", func(c change) { c.host.CapAdd = []string{"NET_RAW"} }, false},
		{"no-new-privileges", "set-user-ID programs work", func(c change) { c.host.SecurityOpt = nil }, false},
		{"seccomp", "no filter of system calls", func(c change) { c.host.SecurityOpt = append(c.host.SecurityOpt, "seccomp=unconfined") }, false},
		{"read-only-root", "a writable root", func(c change) { c.host.ReadonlyRootfs = false }, false},
		{"masked", "the history shows", func(c change) { c.host.MaskedPaths = nil }, false},
		{"workspace", "a workspace that should be read-only", func(c change) { c.document.Addresses.ReadOnlyWorkspace = true }, false},
		{"workspace", "a workspace that should be writable", func(c change) { c.host.Mounts[0].ReadOnly = true }, false},
		{"sandboxes", "a kernel without Landlock", withoutLandlock, false},
		{"", "a kernel without Landlock, and one sandbox for all", func(c change) { withoutLandlock(c); c.document.Spec.Isolation.SharedSandbox = true }, false},
		{"docker-socket", "a socket of a daemon", func(c change) {
			c.host.Mounts = append(c.host.Mounts, mount.Mount{Type: mount.TypeBind, Source: os.DevNull, Target: "/run/docker.sock"})
		}, false},
		{"devices", "another device", func(c change) {
			c.host.Devices = []container.DeviceMapping{{PathOnHost: "/dev/zero", PathInContainer: "/dev/strange", CgroupPermissions: "r"}}
		}, false},
		{"gateway", "the network of the host", func(c change) { c.host.NetworkMode, c.host.DNS = "host", nil }, true},
		{"proxy", "another token", func(c change) {
			c.document.Secrets.Proxy = strings.Replace(c.document.Secrets.Proxy, "token-of", "other", 1)
		}, false},
		{"proxy", "no proxy", func(c change) {
			c.document.Secrets.Proxy = strings.Replace(c.document.Secrets.Proxy, ":4000", ":4999", 1)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of it is waiting for what must not answer
			s := *s
			s.t = t
			o, doc := s.options(), s.document()
			c.change(change{o.HostConfig, o.Config, doc})
			s.judge(o, doc, c.missing, c.also)
		})
	}
}

// A network that is only internal leaves the host reachable.
func internalNetwork(t *testing.T, image string) {
	options := closed()
	options.Options = nil
	s := newSite(t, image, options)
	s.judge(s.options(), s.document(), "gateway", false)
}

// A network of the other kind is a second one that is still open.
func networkWithIPv6(t *testing.T, image string) {
	var random [5]byte
	_, _ = rand.Read(random[:]) // it never fails
	prefix := netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, random[0], random[1], random[2], random[3], random[4]}), 64)
	options := closed()
	options.EnableIPv6 = new(true)
	options.IPAM = &network.IPAM{Config: []network.IPAMConfig{{Subnet: prefix}}}
	s := newSite(t, image, options)
	s.judge(s.options(), s.document(), "ipv6", false)
}

// judge runs a job in a container, and checks which safeguard is said to be missing.
func (s *site) judge(o client.ContainerCreateOptions, doc *hostlink.Document, missing string, others bool) {
	t := s.t
	t.Helper()
	id := s.create(o)
	d := newFakeHost(t)
	err := d.serve(doc, func(input io.Reader, output io.Writer) error { return s.start(id, input, output) })
	var failed []string
	for _, c := range d.checks {
		if !c.OK {
			failed = append(failed, c.Name)
		}
	}
	if missing == "" {
		if err != nil || failed != nil || d.end == nil || d.end.Error != "" || !d.has("completeRun") {
			t.Fatalf("%v, failed %q, end %+v, checks %+v", err, failed, d.end, d.checks)
		}
		if !strings.Contains(d.text(), `\"exitCode\":0`) {
			t.Errorf("the command did not run: %s", d.text())
		}
		return
	}
	if err == nil || d.end == nil || !strings.HasPrefix(d.end.Error, "the sandbox check failed: ") || len(d.events) > 0 {
		t.Errorf("%v, end %+v, events %q", err, d.end, d.types())
	}
	if !slices.Contains(failed, missing) || !others && len(failed) > 1 {
		t.Errorf("failed %q, want %q: %+v", failed, missing, d.checks)
	}
}

// The command is the first process of its container, and so the heir of all that lose
// their parents there. A program that leaves a process behind leaves nothing, not even
// one that is dead and not buried.
func firstProcess(t *testing.T, image string) {
	s := newSite(t, image, closed())
	id := s.create(s.options())
	doc := s.document()
	doc.Secrets.Files[0].Data = []byte(`
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "/bin/evil", args = ["daemonise", "--file", "/workspace/alive"] }
[[turn]]
text = "done"
`)
	d := newFakeHost(t)
	var left [][]string
	d.after = func(_ *fakeHost, e event.Event) {
		if e.Type() != "endToolCall" {
			return
		}
		top, err := s.api.ContainerTop(t.Context(), id, client.ContainerTopOptions{Arguments: []string{"-o", "pid,args"}})
		if err != nil {
			t.Error(err)
		}
		left = top.Processes
	}
	if err := d.serve(doc, func(input io.Reader, output io.Writer) error { return s.start(id, input, output) }); err != nil || d.end == nil || d.end.Error != "" {
		t.Fatalf("%v, end %+v", err, d.end)
	}
	if !strings.Contains(d.text(), `\"exitCode\":0`) {
		t.Fatalf("the program did not run: %s", d.text())
	}
	// They are sorted by numbers, which begin again at 1 when all were used.
	engine := slices.ContainsFunc(left, func(p []string) bool { return strings.HasSuffix(p[1], "/perstack perstack-in-container engine") })
	supervisor := slices.ContainsFunc(left, func(p []string) bool { return strings.Contains(p[1], "perstack-supervisor") })
	if len(left) != 2 || !engine || !supervisor {
		t.Errorf("processes %q", left)
	}
}
