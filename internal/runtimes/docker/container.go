package docker

import (
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"

	"github.com/perstack-go/perstack/internal/runtimes/docker/inside"
	"github.com/perstack-go/perstack/job"
)

// A role is what one of the two containers is for. Both are isolated alike, and of
// the same image, unless the proxy is Squid.
type role string

const (
	roleRuntime role = "runtime" // the engine, its tools and commands
	roleProxy   role = "proxy"
)

const (
	// proxyID is a user without files: the proxy owns none.
	proxyID = 65534
	// What the proxy needs does not depend on the Expert.
	proxyMemory = 256 << 20
	proxyPIDs   = 256
	proxyTmp    = 1 << 20 // for the configuration of Squid, and for what it calls shared memory

	// maxOpenFiles is far above what a run needs, and below what daemons may have
	// themselves: not every one can raise it.
	maxOpenFiles = 8192
)

// containerOptions returns all that is told to the daemon about a container. Whatever is
// not said here is the daemon's default; hence what matters is said, even where it is the
// default today.
func (s *Site) containerOptions(r role) container.CreateRequest {
	config := &container.Config{
		Image:        s.plan.image,
		Hostname:     "perstack",
		AttachStdin:  true,
		AttachStdout: true,
		AttachStderr: true,
		OpenStdin:    true,
		StdinOnce:    true, // it ends when we do
		// Secrets never go here: every user of the daemon can read them. The image knows
		// where its programs are (PATH).
		//
		// Whom our own program trusts is in the file that we put there, and nowhere else: in the
		// directory around it, a base image can have authorities of its own, who would then
		// vouch for a provider.
		Env:         []string{"HOME=" + homeDir, "SSL_CERT_FILE=" + rootsPath, "SSL_CERT_DIR=" + binaryPath},
		Entrypoint:  []string{binaryPath},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, // a base image's would run in here
		StopSignal:  "SIGKILL",
		Labels:      s.labels,
	}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(s.inner.id),
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: true,
		IpcMode:        container.IPCModeNone, // also no /dev/shm, which would be one more place to write
		CgroupnsMode:   container.CgroupnsModePrivate,
		LogConfig:      container.LogConfig{Type: "none"}, // what a run says stays in its journal
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		DNSSearch:      []string{"."}, // not the host's domains
		DNSOptions:     []string{},
		MaskedPaths:    slices.Concat(maskedPaths(), s.plan.cover.Masked),
		ReadonlyPaths:  slices.Concat(readonlyPaths(), s.plan.cover.Frozen),
		Init:           new(bool),
		// The proxy stands on two networks, and must not become a router between them.
		Sysctls: map[string]string{"net.ipv4.ip_forward": "0"},
		Resources: container.Resources{
			NanoCPUs: int64(min(s.plan.container().CPUs, float64(s.daemon.CPUs)) * 1e9), // the daemon refuses more than there are
			Ulimits: []*container.Ulimit{
				{Name: "core", Soft: 0, Hard: 0},     // a core is a copy of all secrets
				{Name: "msgqueue", Soft: 0, Hard: 0}, // /dev/mqueue would be one more place to write
				{Name: "nofile", Soft: maxOpenFiles, Hard: maxOpenFiles},
			},
		},
	}
	switch r {
	case roleRuntime:
		s.runtimeOptions(config, host)
	case roleProxy:
		s.proxyOptions(config, host)
	}
	// Swap would be a second, larger memory.
	host.MemorySwap = host.Memory
	return container.CreateRequest{
		Config: config, HostConfig: host,
		NetworkingConfig: &network.NetworkingConfig{
			EndpointsConfig: map[string]*network.EndpointSettings{s.inner.id: {}},
		},
	}
}

func (s *Site) runtimeOptions(config *container.Config, host *container.HostConfig) {
	limits := s.plan.container()
	config.Cmd = inside.EngineArgs()
	if s.plan.args != nil {
		config.Cmd = s.trialArgs()
	}
	config.User = userOf(s.plan.cover.UID, s.plan.cover.GID)
	config.WorkingDir = workDir
	// No server answers there. Without it the daemon's resolver would ask those of the host.
	host.DNS = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	host.Memory, host.MemoryReservation = limits.Memory, min(limits.MemoryReservation, limits.Memory)
	host.PidsLimit = new(int64(limits.PIDs))
	host.Tmpfs = map[string]string{
		"/tmp":  scratch(limits.TmpSize, "exec"), // programs are built and run there
		homeDir: scratch(limits.CacheSize, "noexec"),
	}
	host.Mounts = []mount.Mount{s.mount(workDir)}
	for _, dir := range s.plan.data {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: dir, Target: path.Join(dataDir, filepath.Base(dir)),
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	for _, dir := range s.plan.cover.Pinned {
		// Mounted on itself: the kernel does not let go of a place where something is mounted.
		host.Mounts = append(host.Mounts, s.mount(dir))
	}
}

// mount is a directory of the workspace, where it is in the container.
func (s *Site) mount(target string) mount.Mount {
	below := strings.TrimPrefix(target, workDir)
	readOnly := s.plan.container().ReadOnlyWorkspace
	return mount.Mount{
		Type: mount.TypeBind, Source: filepath.Join(s.plan.cover.Dir, filepath.FromSlash(below)), Target: target, ReadOnly: readOnly,
		BindOptions: &mount.BindOptions{
			// What is mounted on the host later does not appear in here, nor the other way round.
			Propagation: mount.PropagationRPrivate,
			// Daemons before 25 leave what is mounted below writable. It is left out then.
			NonRecursive: readOnly,
		},
	}
}

func (s *Site) proxyOptions(config *container.Config, host *container.HostConfig) {
	config.Cmd = inside.ProxyArgs()
	config.User = userOf(proxyID, proxyID)
	config.WorkingDir = "/"
	for _, server := range s.plan.container().DNS {
		if addr, err := netip.ParseAddr(server); err == nil { // Build has refused others
			host.DNS = append(host.DNS, addr)
		}
	}
	host.Memory = proxyMemory
	host.PidsLimit = new(int64(proxyPIDs))
	// It sees nothing of the workspace.
	host.MaskedPaths, host.ReadonlyPaths = maskedPaths(), readonlyPaths()
	if s.plan.container().Proxy == job.ProxySquid {
		s.squidOptions(config, host)
	}
}

// squidOptions has our program in the container start Squid there. It speaks as it does
// with the builtin proxy.
func (s *Site) squidOptions(config *container.Config, host *container.HostConfig) {
	config.Image = s.plan.proxyImage
	config.Cmd = inside.SquidArgs(s.plan.container().DNS)
	// It reads its configuration from a file, and does not start without shared memory, which
	// is private to it. Nothing else can be written.
	scratch := fmt.Sprintf("rw,nosuid,nodev,noexec,size=%d,mode=0700,uid=%d,gid=%d", proxyTmp, proxyID, proxyID)
	host.Tmpfs = map[string]string{"/tmp": scratch, "/dev/shm": scratch}
	config.Env = append(config.Env, "TMPDIR=/tmp")
}

func scratch(size int64, exec string) string {
	return fmt.Sprintf("rw,nosuid,nodev,%s,size=%d,mode=1777,uid=0,gid=0", exec, size)
}

func userOf(uid, gid int) string { return strconv.Itoa(uid) + ":" + strconv.Itoa(gid) }

// maskedPaths are what daemons hide of the kernel by default, the newest of them. They
// must be named again, because naming any path replaces the default. What a kernel does
// not have is left out by the daemon.
func maskedPaths() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
}

// readonlyPaths are what daemons keep from being changed by default.
func readonlyPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
}
