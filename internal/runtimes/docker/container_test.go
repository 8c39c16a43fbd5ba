package docker

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/testkit/jail"
	"github.com/perstack-go/perstack/job"
)

// What the daemon says about both containers is what it was told: nothing was dropped on
// the way, and nothing added that weakens the isolation (K1-K4).
func TestContainerSettings(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	put(t, plan.cover.Dir, map[string]string{".env": "SECRET=1", "perstack.toml": "x"})
	plan.cover.Masked, plan.cover.Frozen = []string{"/workspace/.env"}, []string{"/workspace/perstack.toml"}
	plan.container().DNS = []string{"192.0.2.53"}
	s, _ := buildSite(t, d, plan)
	enter(t, s, jail.Task{Hold: true})

	for _, r := range []role{roleRuntime, roleProxy} {
		t.Run(string(r), func(t *testing.T) {
			found, err := moby(t, d).ContainerInspect(t.Context(), s.name(string(r)), client.ContainerInspectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			told := s.containerOptions(r)
			config, host := found.Container.Config, found.Container.HostConfig
			for _, c := range []struct {
				what      string
				got, want any
			}{
				{"capabilities added", len(host.CapAdd), 0},
				{"capabilities dropped", host.CapDrop, []string{"ALL"}},
				{"privileged", host.Privileged, false},
				{"security options", host.SecurityOpt, []string{"no-new-privileges"}},
				{"read-only root", host.ReadonlyRootfs, true},
				{"user", config.User, map[role]string{roleRuntime: userOf(plan.cover.UID, plan.cover.GID), roleProxy: "65534:65534"}[r]},
				{"memory", host.Memory, map[role]int64{roleRuntime: 256 << 20, roleProxy: 256 << 20}[r]},
				{"memory and swap", host.MemorySwap, host.Memory},
				{"reserved memory", host.MemoryReservation, map[role]int64{roleRuntime: 32 << 20}[r]},
				{"processors", host.NanoCPUs, int64(1e9)},
				{"processes", *host.PidsLimit, map[role]int64{roleRuntime: 40, roleProxy: 256}[r]},
				{"binds", len(host.Binds), 0},
				{"mounts", spell(t, host.Mounts), spell(t, told.HostConfig.Mounts)},
				{"mounted", len(found.Container.Mounts), len(told.HostConfig.Mounts)},
				{"volumes", len(config.Volumes) + len(host.VolumesFrom), 0},
				{"temporary", host.Tmpfs, told.HostConfig.Tmpfs},
				{"authorities", slices.Contains(config.Env, "SSL_CERT_FILE="+rootsPath) && slices.Contains(config.Env, "SSL_CERT_DIR="+binaryPath), true},
				{"devices", len(host.Devices) + len(host.DeviceRequests) + len(host.DeviceCgroupRules), 0},
				{"process namespace", host.PidMode, container.PidMode("")},
				{"name namespace", host.UTSMode, container.UTSMode("")},
				{"user namespace", host.UsernsMode, container.UsernsMode("")},
				{"message namespace", host.IpcMode, container.IPCModeNone},
				{"control groups", host.CgroupnsMode, container.CgroupnsModePrivate},
				{"groups", len(host.GroupAdd), 0},
				{"published ports", len(host.PortBindings), 0},
				{"links", len(host.Links) + len(host.ExtraHosts), 0},
				{"log", host.LogConfig.Type, "none"},
				{"restart", host.RestartPolicy.Name, container.RestartPolicyDisabled},
				{"out of memory", host.OomKillDisable == nil || !*host.OomKillDisable, true},
				{"masked", host.MaskedPaths, told.HostConfig.MaskedPaths},
				{"frozen", host.ReadonlyPaths, told.HostConfig.ReadonlyPaths},
				{"sysctls", host.Sysctls, map[string]string{"net.ipv4.ip_forward": "0"}},
				{"limits", fmt.Sprint(host.Ulimits), "[core=0:0 msgqueue=0:0 nofile=8192:8192]"},
				{"name servers", host.DNS, map[role]string{roleRuntime: "[127.0.0.1]", roleProxy: "[192.0.2.53]"}[r]},
				{"environment", config.Env, told.Config.Env},
				{"program", slices.Concat(config.Entrypoint, config.Cmd), slices.Concat(told.Config.Entrypoint, told.Config.Cmd)},
				{"terminal", config.Tty, false},
				{"health check", config.Healthcheck.Test, []string{"NONE"}},
				{"labels", config.Labels[labelOwner], s.labels[labelOwner]},
			} {
				if got, want := fmt.Sprintf("%+v", c.got), fmt.Sprintf("%+v", c.want); got != want {
					t.Errorf("%s: %s, want %s", c.what, got, want)
				}
			}
			networks := len(found.Container.NetworkSettings.Networks)
			if want := map[role]int{roleRuntime: 1, roleProxy: 2}[r]; networks != want {
				t.Errorf("it is on %d networks, want %d", networks, want)
			}
		})
	}
}

// spell writes out what is behind pointers.
func spell(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What the kernel says inside (K1-K4), of both containers.
func TestIsolationFromInside(t *testing.T) {
	t.Parallel()
	e := realDaemon(t)
	plan := testPlan(t)
	s, _ := buildSite(t, e, plan)
	runtime, _ := enter(t, s, jail.Task{Hold: true})
	proxy := lookInto(t, e, s.name(string(roleProxy)))

	mine := map[string]string{}
	for _, name := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		mine[name], _ = os.Readlink("/proc/self/ns/" + name)
	}
	for r, saw := range map[role]jail.Report{roleRuntime: runtime, roleProxy: proxy} {
		t.Run(string(r), func(t *testing.T) {
			uid, gid := plan.cover.UID, plan.cover.GID
			if r == roleProxy {
				uid, gid = proxyID, proxyID
			}
			if saw.UID != uid || saw.GID != gid || !slices.Equal(saw.Groups, []int{gid}) {
				t.Errorf("it runs as %d:%d %v", saw.UID, saw.GID, saw.Groups)
			}
			for field, want := range map[string]string{
				"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000",
				"CapBnd": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2",
			} {
				if got := saw.Status[field]; got != want {
					t.Errorf("%s is %s, want %s", field, got, want)
				}
			}
			for limit, want := range map[string]string{"Max core file size": "0 0", "Max open files": "8192 8192", "Max msgqueue size": "0 0"} {
				if got := saw.Limits[limit]; got != want {
					t.Errorf("%s is %s, want %s", limit, got, want)
				}
			}
			for name, id := range mine {
				if saw.Namespaces[name] == id || saw.Namespaces[name] == "" {
					t.Errorf("namespace %s is %q, and that of the host is %q", name, saw.Namespaces[name], id)
				}
			}
			if saw.Forwarding != "0" {
				t.Errorf("it forwards packets: %s", saw.Forwarding)
			}
			if len(saw.IPv6) > 0 {
				t.Errorf("it speaks IPv6: %q", saw.IPv6)
			}
			checkEnv(t, saw.Env)
			checkMounts(t, r, saw.Mounts)
			for _, d := range saw.Devices {
				if !slices.Contains(harmlessDevices(), d) {
					t.Errorf("device %s", d)
				}
			}
		})
	}
}

func checkEnv(t *testing.T, env []string) {
	t.Helper()
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains([]string{"PATH", "HOME", "HOSTNAME", "SSL_CERT_FILE", "SSL_CERT_DIR"}, name) {
			t.Errorf("variable %s", v)
		}
	}
}

// checkMounts makes sure that the root is read-only, that nothing of the host is mounted
// but the workspace and three small files of the daemon's, and that nothing else can be
// written.
func checkMounts(t *testing.T, r role, mounts []jail.Mount) {
	t.Helper()
	ofKernel := []string{"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue"}
	for _, m := range mounts {
		writable := slices.Contains(strings.Split(m.Options, ","), "rw")
		switch {
		case m.Path == "/":
			if writable {
				t.Errorf("the root can be written: %+v", m)
			}
		case m.Path == "/etc/resolv.conf" || m.Path == "/etc/hostname" || m.Path == "/etc/hosts":
			if writable {
				t.Errorf("%s can be written: %+v", m.Path, m)
			}
		case m.Path == "/workspace" && r == roleRuntime:
		case m.Kind == "tmpfs" && (m.Path == "/tmp" || m.Path == homeDir) && r == roleRuntime:
			if !strings.Contains(m.Options, "nosuid,nodev") || !strings.Contains(m.SuperOptions, "size=") {
				t.Errorf("%s is %+v", m.Path, m)
			}
			if exec := !strings.Contains(m.Options, "noexec"); exec != (m.Path == "/tmp") {
				t.Errorf("%s is %+v", m.Path, m)
			}
		case m.Kind == "tmpfs" && (m.Path == "/dev" || m.Path == "/sys/fs/cgroup"): // root's, mode 755
		case m.Kind == "tmpfs" && (strings.HasPrefix(m.Path, "/proc/") || strings.HasPrefix(m.Path, "/sys/")):
			if writable && m.Root != "/null" {
				t.Errorf("%+v", m)
			}
		case slices.Contains(ofKernel, m.Kind):
		default:
			t.Errorf("%s is mounted: %+v", m.Path, m)
		}
	}
}

func harmlessDevices() []string {
	return []string{
		"/dev", "/dev/core", "/dev/fd", "/dev/full", "/dev/mqueue", "/dev/null", "/dev/ptmx", "/dev/pts", "/dev/pts/ptmx",
		"/dev/random", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/dev/tty", "/dev/urandom", "/dev/zero",
	}
}

// lookInto runs the program in a container that runs already.
func lookInto(t *testing.T, d *Daemon, name string) (r jail.Report) {
	t.Helper()
	made, err := moby(t, d).ExecCreate(t.Context(), name, client.ExecCreateOptions{Cmd: []string{binaryPath, "look"}, AttachStdout: true, AttachStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	attached, err := moby(t, d).ExecAttach(t.Context(), made.ID, client.ExecAttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer attached.Close()
	var out, errs bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &errs, attached.Reader); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), errs.String())
	}
	return r
}

// The container of a job that plans has a read-only workspace, and reaches no host but that of the model.
// The model and the Spec stay as they are.
func TestSiteWithoutEffects(t *testing.T) {
	r := &runner{spec: job.Spec{Experts: []*expert.Expert{{Key: "dev", Skills: []*expert.Skill{
		{Name: expert.BaseSkill, BuiltIn: true, AllowedDomains: []string{"a.example"}}, {Name: "web", Type: expert.StdioSkill, AllowedDomains: []string{"b.example"}},
		{Name: "far", Type: expert.HTTPSkill, Endpoint: "https://far.example/mcp"},
	}}}}, model: providers.Bundle{URLs: []string{"https://model.example"}}}
	plan := sitePlan{spec: r.spec, listeners: r.listeners()}
	models := providers.Hosts(r.model.URLs)
	plan.withoutEffects(models)
	for _, l := range plan.listeners {
		if l.Name == engineListener && (!slices.Equal(l.Allow, models) || len(models) != 1) || l.Name != engineListener && len(l.Allow) > 0 {
			t.Errorf("%s leads to %v", l.Name, l.Allow)
		}
	}
	if len(plan.listeners) != 3 || !plan.container().ReadOnlyWorkspace || r.container().ReadOnlyWorkspace || len(r.spec.Experts[0].Skills[0].AllowedDomains) != 1 {
		t.Errorf("%+v", plan)
	}
}

// Only a job whose plan was accepted continues in another container, and only if it did not end.
func TestPlanEnded(t *testing.T) {
	for status, want := range map[event.Status]bool{
		event.StatusStoppedByInterrupt: true, event.StatusCompleted: false, event.StatusStoppedByApproval: false, event.StatusStoppedByLimit: false, event.StatusStoppedByError: false,
	} {
		if result := (engine.Result{Status: status}); planEnded(result, true) != want || planEnded(result, false) {
			t.Errorf("%s: %t, without a plan %t", status, planEnded(result, true), planEnded(result, false))
		}
	}
}

// What can be written is the workspace and the two scratch directories (K2), and a
// workspace that is read-only cannot.
func TestWhatCanBeWritten(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	writable := []string{"/workspace", "/workspace/new.txt", "/tmp", homeDir}
	fixed := []string{"/", "/etc", "/etc/hosts", "/etc/resolv.conf", "/dev", "/dev/shm/x", "/dev/mqueue/x", "/sys/fs/cgroup", "/proc/sys/kernel/hostname", "/var", binaryPath, "/home"}
	for _, readOnly := range []bool{false, true} {
		t.Run(fmt.Sprint("read only ", readOnly), func(t *testing.T) {
			plan := testPlan(t)
			plan.container().ReadOnlyWorkspace = readOnly
			s, _ := buildSite(t, d, plan)
			saw, _ := enter(t, s, jail.Task{Write: slices.Concat(writable, fixed)})
			for _, name := range writable {
				want := !readOnly || !strings.HasPrefix(name, "/workspace")
				if got := saw.Wrote[name]; (got == "") != want {
					t.Errorf("%s: %q", name, got)
				}
			}
			for _, name := range fixed {
				if saw.Wrote[name] == "" {
					t.Errorf("%s was written", name)
				}
			}
			info, err := os.Stat(filepath.Join(plan.cover.Dir, "new.txt"))
			if readOnly {
				if err == nil {
					t.Error("the file is there")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if uid, _, err := ownerOf("", info); err != nil || uid != plan.cover.UID {
				t.Errorf("what it wrote belongs to %d, %v", uid, err)
			}
		})
	}
}

// Sizes of scratch directories and the number of processes hold (K3, K6).
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, _ := buildSite(t, d, testPlan(t))
	saw, c := enter(t, s, jail.Task{Fill: "/tmp/big", FillMax: 64 << 20, Fork: 200})
	if saw.Filled > 4<<20 || saw.Filled < 3<<20 || !strings.Contains(saw.FillError, "no space left") {
		t.Errorf("/tmp took %d bytes, then %q", saw.Filled, saw.FillError)
	}
	if saw.Forked >= 40 || saw.ForkError == "" {
		t.Errorf("%d processes were started, then %q", saw.Forked, saw.ForkError)
	}
	if end := <-c.Exited; end != (Exit{}) {
		t.Errorf("it ended with %+v", end)
	}
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	plan.container().Memory = 64 << 20
	s, notes := buildSite(t, d, plan)
	_, c := enter(t, s, jail.Task{Eat: 1 << 30})
	if end := <-c.Exited; end != (Exit{Code: 137, OutOfMemory: true}) {
		t.Errorf("it ended with %+v", end)
	}
	if got := notes.statuses(roleRuntime); !slices.Equal(got, []string{"starting", "running", "error"}) {
		t.Errorf("the container was %q", got)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, _ := buildSite(t, d, testPlan(t))
	_, c := enter(t, s, jail.Task{Exit: 7})
	if end := <-c.Exited; end != (Exit{Code: 7}) {
		t.Errorf("it ended with %+v", end)
	}
}

// The container ends when its input does, and when it is stopped.
func TestStop(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, _ := buildSite(t, d, testPlan(t))
	_, c := enter(t, s, jail.Task{Hold: true})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end := <-c.Exited; end != (Exit{Code: 137}) {
		t.Errorf("it ended with %+v", end)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("the second Stop: %v", err)
	}
}

func TestEndOfInput(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, _ := buildSite(t, d, testPlan(t))
	_, c := enter(t, s, jail.Task{Hold: true})
	if err := c.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if end := <-c.Exited; end != (Exit{}) {
		t.Errorf("it ended with %+v", end)
	}
}

// What goes in by standard input is nowhere to be seen from outside (K7).
func TestNoSecretInInspect(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	const canary = "canary-3f1c9a"
	plan.listeners[0].Token = canary + "-token"
	plan.upstream = "http://user:" + canary + "@203.0.113.1:3128"
	s, _ := buildSite(t, d, plan)
	saw, _ := enter(t, s, jail.Task{Read: []string{"/" + canary}, Hold: true})
	if _, got := saw.Found["/"+canary]; !got {
		t.Fatal("the canary did not arrive")
	}
	seen := map[string]string{}
	for _, r := range []role{roleRuntime, roleProxy} {
		found, err := moby(t, d).ContainerInspect(t.Context(), s.name(string(r)), client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seen["inspect "+string(r)] = string(found.Raw)
		top, err := moby(t, d).ContainerTop(t.Context(), s.name(string(r)), client.ContainerTopOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seen["processes "+string(r)] = fmt.Sprint(top.Processes)
		seen["environment "+string(r)] = fmt.Sprint(lookInto(t, d, s.name(string(r))).Env)
	}
	for _, id := range []string{s.inner.id, s.outer.id} {
		found, err := moby(t, d).NetworkInspect(t.Context(), id, client.NetworkInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seen["network "+found.Network.Name] = string(found.Raw)
	}
	history, err := moby(t, d).ImageHistory(t.Context(), plan.image)
	if err != nil {
		t.Fatal(err)
	}
	seen["history"] = fmt.Sprintf("%+v", history)
	if len(seen) != 9 {
		t.Errorf("looked at %d places: %q", len(seen), slices.Sorted(maps.Keys(seen)))
	}
	for where, text := range seen {
		if text == "" || strings.Contains(text, canary) {
			t.Errorf("%s: %s", where, text)
		}
	}
}
