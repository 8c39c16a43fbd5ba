// Package landlock confines a program that is not trusted to what it needs: some files,
// the ports of its own proxy, and the processes that it started itself. A confined program
// cannot lift the restriction, and neither can anything it starts.
//
// The kernel enforces a policy. Landlock decides about files, TCP connections, signals,
// tracing and abstract sockets. A seccomp filter blocks what Landlock does not cover. An
// ordinary user can apply both. Where the kernel cannot enforce all of it, [Available]
// says so: a policy is never enforced in part.
//
// A policy does not hide that a file exists, how large it is and who owns it. It does not
// keep the owner of a file from changing its mode and times, nor hide that a process with
// a given number runs. A port is allowed on every host. Memory, processor and disk are
// shared. For these, run the program in a container as well.
//
// Confined programs cannot use: sockets other than TCP, listening, shared memory and
// queues by name, io_uring, notifications about changed files (fs.watch of Node; polling
// works), extended attributes, 32-bit programs, and /proc of the processes they start.
//
// Start reading at [Policy]; policy_linux.go applies Landlock, rules_linux.go lists what
// the filter blocks.
package landlock

import (
	"errors"
	"slices"
	"strings"
)

// A Policy is what a program can reach. The zero value allows nothing. Paths are absolute.
type Policy struct {
	// Read are files and trees that it can read, and run programs from. Paths that do not
	// exist, or that the user cannot reach, are skipped: machines differ in where they keep
	// their libraries.
	Read []string
	// Opened are directories that it can read as well. No link is followed to one of them; one that
	// cannot be opened so is skipped.
	Opened []string
	// Write are files and trees that it can change too. They must exist.
	Write []string
	// Ports are the TCP ports that it can connect to, whatever the host.
	Ports []uint16
	// FixedMetadata keeps it from changing modes, owners and times of files, which Landlock does not check: also
	// of those in Write.
	FixedMetadata bool
	// Changeable are trees in which programs can replace directories by links. No link is followed
	// to a path of Read or Write in one of them.
	Changeable []string
}

// ErrUnavailable means that the kernel cannot enforce a policy.
var ErrUnavailable = errors.New("skills cannot be isolated from each other here")

// Do calls f under the policy. Only what f does on its own goroutine is confined: what
// other goroutines do for f is not. The thread ends with f, since a restriction cannot be
// lifted. If f panics, so does Do.
//
// The files and ports of the policy apply to f, the filter of system calls does not: Do is
// for our own code, which does not try to break out.
func (p *Policy) Do(f func()) error {
	threads := NewThreads(p, 1)
	defer threads.Close()
	return threads.Do(f)
}

// SystemPaths lists what programs need to run at all: the programs, their libraries, the
// certificate authorities that they trust, facts about the machine. Files of /etc that
// hold no secret are listed one by one, because keys and passwords lie next to them.
func SystemPaths() []string {
	return []string{
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/nix/store", "/gnu/store",

		"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/fonts", "/etc/gai.conf", "/etc/group",
		"/etc/host.conf", "/etc/hostname", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
		"/etc/locale.alias", "/etc/locale.conf", "/etc/localtime", "/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd",
		"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/protocols", "/etc/python3", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/cert.pem",
		"/etc/ssl/openssl.cnf", "/etc/timezone",

		"/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",

		"/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype",
		"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/proc/sys/kernel/version", "/proc/sys/vm/overcommit_memory", "/proc/uptime", "/proc/version",
		"/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
	}
}

// SystemFiles are those of SystemPaths that a sandbox with mounts of its own takes from the
// machine: it has its own /dev and /proc, and no /sys.
func SystemFiles() []string {
	return slices.DeleteFunc(SystemPaths(), func(path string) bool {
		return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/")
	})
}

// WritableDevices are the devices that a program may write to.
func WritableDevices() []string { return []string{"/dev/full", "/dev/null", "/dev/zero"} }
