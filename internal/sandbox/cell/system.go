package cell

// System lists what the programs of a machine need to run at all: the programs, their
// libraries, the authorities that they trust, what they know of the machine. Of /etc it is
// what everybody may know, file by file: next to it are keys and passwords.
func System() []string {
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

// Sinks are the devices that a program may write to.
func Sinks() []string { return []string{"/dev/full", "/dev/null", "/dev/zero"} }
