package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ping sends an echo request by the socket that needs no privilege.
func ping(ctx context.Context, address string) Result {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return outcomeOf(err)
	}
	f := os.NewFile(uintptr(fd), "ping")
	conn, err := net.FilePacketConn(f)
	f.Close()
	if err != nil {
		return Result{Outcome: Denied, Detail: err.Error()}
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	echo := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0} // type 8, its checksum
	if _, err := conn.WriteTo(echo, &net.UDPAddr{IP: net.ParseIP(address)}); err != nil {
		return Result{Outcome: Dead, Detail: err.Error()}
	}
	if _, _, err := conn.ReadFrom(make([]byte, 512)); err != nil {
		return Result{Outcome: Dead, Detail: err.Error()}
	}
	return Result{Outcome: Reached, Detail: address + " answers a ping"}
}

func rawSockets() Result {
	var last error
	for _, s := range [][3]int{{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW}, {unix.AF_PACKET, unix.SOCK_RAW, 0x0300}, {unix.AF_PACKET, unix.SOCK_DGRAM, 0x0300}} {
		fd, err := unix.Socket(s[0], s[1]|unix.SOCK_CLOEXEC, s[2])
		if err == nil {
			unix.Close(fd)
			return Result{Outcome: Found, Detail: fmt.Sprintf("socket %v", s)}
		}
		last = err
	}
	return outcomeOf(last)
}

// outcomeOf turns what a system call said into an outcome.
func outcomeOf(err error) Result {
	switch {
	case err == nil:
		return Result{Outcome: Found}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.ENOSYS):
		return Result{Outcome: Denied, Detail: err.Error()}
	case errors.Is(err, fs.ErrNotExist):
		return Result{Outcome: Absent, Detail: err.Error()}
	}
	return Result{Outcome: Broken, Detail: err.Error()}
}

// kernelRows ask the kernel for what a prisoner must not have.
func kernelRows(Config) []Row {
	call := func(id, promise, what string, f func() error) Row {
		return Row{ID: id, Promise: promise, What: what, Want: []string{Denied}, run: func(context.Context, *Probe) Result {
			done := make(chan Result, 1)
			go func() { // what it changed of its thread goes with the thread
				runtime.LockOSThread()
				_ = unix.Unshare(unix.CLONE_FS) // where that is forbidden, so is the rest
				done <- outcomeOf(f())
			}()
			return <-done
		}}
	}
	status := func(id, what string, wants map[string]string) Row {
		return Row{ID: id, Promise: "K1", What: what, Want: []string{Held}, run: func(context.Context, *Probe) Result { return statusIs(wants) }}
	}
	write := func(id, what string, paths ...string) Row {
		return Row{ID: id, Promise: "K2", What: what, Want: []string{Denied, Absent}, run: func(context.Context, *Probe) Result { return writable(paths) }}
	}
	zero := "0000000000000000"
	return []Row{
		status("capabilities", "all five sets of capabilities are empty", map[string]string{"CapInh": zero, "CapPrm": zero, "CapEff": zero, "CapBnd": zero, "CapAmb": zero}),
		status("privileges", "no new privileges, and a filter of system calls", map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}),
		{ID: "uid", Promise: "K2", What: "who it runs as", Want: []string{Held}, run: func(context.Context, *Probe) Result {
			groups, err := os.Getgroups()
			if err != nil || os.Getuid() == 0 || os.Geteuid() == 0 || os.Getgid() == 0 || os.Getegid() == 0 {
				return Result{Outcome: Found, Detail: fmt.Sprintf("uid %d gid %d: %v", os.Getuid(), os.Getgid(), err)}
			}
			for _, g := range groups {
				if g == 0 {
					return Result{Outcome: Found, Detail: "it is in the group of root"}
				}
			}
			return Result{Outcome: Held, Detail: fmt.Sprintf("uid %d gid %d groups %v", os.Getuid(), os.Getgid(), groups)}
		}},
		call("setuid", "K1", "becoming root", func() error {
			_, _, e := unix.RawSyscall(unix.SYS_SETUID, 0, 0, 0) // not for the other threads
			if e != 0 {
				return e
			}
			return nil
		}),
		call("mount", "K1", "mounting a file system", func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") }),
		call("chroot", "K1", "another root", func() error { return unix.Chroot("/tmp") }),
		call("namespaces", "K1", "a user namespace of its own", func() error { return unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNS) }),
		call("network-namespace", "K1", "a network namespace of its own", func() error { return unix.Unshare(unix.CLONE_NEWNET) }),
		call("device", "K4", "a device file", func() error { return unix.Mknod("/tmp/probe-device", unix.S_IFBLK|0o600, 8<<8) }),
		call("hostname", "K1", "another name of the machine", func() error { return unix.Sethostname([]byte("probe")) }),
		call("reboot", "K1", "a reboot", func() error { return unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF) }),
		call("bpf", "K1", "a program in the kernel", func() error {
			_, _, e := unix.Syscall(unix.SYS_BPF, 0, 0, 0)
			if e != 0 {
				return e
			}
			return nil
		}),
		call("keys", "K1", "the kernel's key rings", func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err }),
		call("modules", "K1", "a module of the kernel", func() error { return unix.DeleteModule("probe", 0) }),
		write("write-root", "a file in the root file system", "/probe", "/etc/probe", "/usr/probe", "/bin/probe", "/etc/passwd", "/perstack", "/home/probe", "/var/probe"),
		write("write-kernel", "the settings of the kernel", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/net/ipv4/ip_forward", "/sys/kernel/uevent_helper", "/proc/1/oom_score_adj"),
		{ID: "cgroup", Promise: "K3", What: "its own limits", Want: []string{Denied, Absent}, run: func(context.Context, *Probe) Result {
			files, _ := filepath.Glob("/sys/fs/cgroup/*/*limit*")
			more, _ := filepath.Glob("/sys/fs/cgroup/*.max")
			files = append(append(files, more...), "/sys/fs/cgroup/probe", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/cgroup.procs")
			return writable(files)
		}},
		{ID: "mounts", Promise: "K4", What: "what is mounted: the workspace, and nothing else of the host", Want: []string{Held}, run: func(context.Context, *Probe) Result { return mounts() }},
		{ID: "devices", Promise: "K4", What: "device files beside the harmless ones", Want: []string{Held}, run: func(context.Context, *Probe) Result { return devices() }},
		{ID: "processes", Promise: "K4", What: "processes of the host", Want: []string{Held}, run: func(context.Context, *Probe) Result {
			dirs, err := filepath.Glob("/proc/[0-9]*")
			if _, closed := os.ReadDir("/proc"); closed != nil {
				return outcomeOf(closed)
			}
			if err != nil || len(dirs) > 20 {
				return Result{Outcome: Found, Detail: fmt.Sprintf("%d processes", len(dirs))}
			}
			return Result{Outcome: Held, Detail: fmt.Sprintf("%d processes", len(dirs))}
		}},
	}
}

func statusIs(wants map[string]string) Result {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return Result{Outcome: Broken, Detail: err.Error()}
	}
	defer f.Close()
	seen := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if want, ok := wants[name]; ok {
			if seen++; strings.TrimSpace(value) != want {
				return Result{Outcome: Found, Detail: lines.Text()}
			}
		}
	}
	if seen != len(wants) {
		return Result{Outcome: Broken, Detail: fmt.Sprintf("%d of %d lines", seen, len(wants))}
	}
	return Result{Outcome: Held}
}

// writable opens files for writing, and makes them where they are not. It writes nothing.
func writable(paths []string) Result {
	last := Result{Outcome: Absent}
	for _, path := range paths {
		_, before := os.Stat(path)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			if got := outcomeOf(err); got.Outcome != Absent {
				last = got
			}
			continue
		}
		f.Close()
		if before != nil {
			os.Remove(path)
		}
		return Result{Outcome: Found, Detail: path}
	}
	return last
}

// mounts looks for file systems that are neither the kernel's nor the container's own.
func mounts() Result {
	// Not /proc/self: that is the main thread, which the row "chroot" may have used up, and
	// whose table is then empty.
	data, err := os.ReadFile("/proc/thread-self/mountinfo")
	if errors.Is(err, fs.ErrPermission) { // a sandbox hides threads, and denies "chroot"
		data, err = os.ReadFile("/proc/self/mountinfo")
	}
	if err != nil {
		return Result{Outcome: Broken, Detail: err.Error()}
	}
	var own []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		_, after, ok := strings.Cut(line, " - ")
		if len(fields) < 6 || !ok {
			continue
		}
		point, options, kind := fields[4], fields[5], strings.Fields(after)[0]
		switch {
		case point == "/":
			if !strings.HasPrefix(options, "ro,") {
				return Result{Outcome: Found, Detail: "the root can be written: " + options}
			}
		case slices.Contains(strings.Fields("proc sysfs devpts mqueue cgroup cgroup2 tmpfs devtmpfs"), kind):
		case point == "/etc/resolv.conf" || point == "/etc/hostname" || point == "/etc/hosts": // the daemon's own
		case point == "/workspace" || strings.HasPrefix(point, "/workspace/"):
			own = append(own, point)
		default:
			return Result{Outcome: Found, Detail: strings.TrimSpace(line)}
		}
	}
	return Result{Outcome: Held, Detail: strings.Join(own, " ")}
}

func devices() Result {
	harmless := strings.Fields("null zero full random urandom tty console ptmx")
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return outcomeOf(err)
	}
	for _, e := range entries {
		if e.Type()&fs.ModeDevice != 0 && !slices.Contains(harmless, e.Name()) {
			return Result{Outcome: Found, Detail: "/dev/" + e.Name()}
		}
	}
	return Result{Outcome: Held}
}
