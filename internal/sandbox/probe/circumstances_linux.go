package probe

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// circumstances are what the level depends on: this boot of the kernel, this program, the user, the
// control group, the settings of the kernel, the namespaces and the filters around this process. A
// part that cannot be read is empty, and then there is no key.
func circumstances() []string {
	var kernel unix.Utsname
	if unix.Uname(&kernel) != nil {
		return nil
	}
	parts := []string{
		unix.ByteSliceToString(kernel.Release[:]) + " " + unix.ByteSliceToString(kernel.Version[:]),
		contentOf("/proc/sys/kernel/random/boot_id"),
		programIdentity(),
		fmt.Sprint(os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid()),
		contentOf("/proc/self/cgroup"),
		ownLimits(),
	}
	for _, name := range []string{usernsClone, maxNamespaces, apparmorUserns} {
		value, ok := readSysctl(name)
		parts = append(parts, fmt.Sprint(name, ok, value))
	}
	for _, name := range []string{"user", "mnt", "pid"} {
		target, _ := os.Readlink("/proc/self/ns/" + name)
		parts = append(parts, target)
	}
	profile, _ := os.ReadFile("/proc/self/attr/current") // there is none without a security module
	return append(parts, "profile "+string(profile))
}

func contentOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// programIdentity identifies the file of this program. Its content is not read, which would take
// longer than to try the sandbox. A user who changes it cannot set the time of the change.
func programIdentity() string {
	var s unix.Stat_t
	if unix.Stat(self, &s) != nil {
		return ""
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Size, s.Mtim, s.Ctim)
}

// ownLimits are the capabilities and filters of this process.
func ownLimits() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	var found strings.Builder
	for line := range bytes.Lines(text) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters":
			found.Write(line)
		}
	}
	return found.String()
}
