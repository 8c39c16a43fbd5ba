package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/jail"
)

// look reports what the kernel says of this process and its environment.
func look() jail.Report {
	r := jail.Report{
		UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), Env: os.Environ(),
		Status: map[string]string{}, Limits: map[string]string{}, Namespaces: map[string]string{},
		Forwarding: text("/proc/sys/net/ipv4/ip_forward"), Resolver: text("/etc/resolv.conf"),
		Routes: lines("/proc/net/route"), IPv6: lines("/proc/net/if_inet6"),
	}
	r.Groups, _ = os.Getgroups()
	r.Hostname, _ = os.Hostname()
	for _, line := range lines("/proc/self/status") {
		name, value, _ := strings.Cut(line, ":")
		r.Status[name] = strings.TrimSpace(value)
	}
	for _, line := range lines("/proc/self/limits") {
		if name, rest, ok := strings.Cut(line, "  "); ok {
			if values := strings.Fields(rest); len(values) >= 2 {
				r.Limits[name] = values[0] + " " + values[1]
			}
		}
	}
	for _, line := range lines("/proc/self/mountinfo") {
		before, after, _ := strings.Cut(line, " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if len(f) >= 6 && len(kind) >= 3 {
			r.Mounts = append(r.Mounts, jail.Mount{Root: f[3], Path: f[4], Options: f[5], Kind: kind[0], SuperOptions: kind[2]})
		}
	}
	for _, name := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		r.Namespaces[name], _ = os.Readlink("/proc/self/ns/" + name)
	}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, line := range lines(name) {
			const listen = "0A"
			if f := strings.Fields(line); len(f) > 3 && f[3] == listen {
				r.Listening = append(r.Listening, f[1])
			}
		}
	}
	_ = filepath.WalkDir("/dev", func(p string, _ os.DirEntry, _ error) error {
		r.Devices = append(r.Devices, p)
		return nil
	})
	return r
}

func text(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data))
}

func lines(name string) []string {
	data, err := os.ReadFile(name)
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
