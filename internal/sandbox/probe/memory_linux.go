package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	sampling   = "by looking at the use every 500 ms"
)

// memoryStep says by what the memory of commands is limited. It always passes, because there
// is a substitute.
func memoryStep() Step {
	detail := "by cgroup v2"
	if why := noCgroup(cgroupRoot); why != "" {
		detail = sampling + ": " + why
	}
	return Step{Name: Memory, Status: OK, Detail: detail}
}

// noCgroup says why this process cannot make control groups of its own; "" if it can.
func noCgroup(root string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(root, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return "there is no cgroup v2 at " + root
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "the kernel does not say in which control group this process is"
	}
	own, ok := ownCgroup(text)
	if !ok {
		return "this process is in no group of cgroup v2"
	}
	dir := filepath.Join(root, own)
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return "the control group of this process cannot be read"
	}
	for _, name := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(string(controllers)), name) {
			return "the control group of this process cannot limit " + name
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs"), filepath.Join(dir, "cgroup.subtree_control")} {
		if unix.Access(path, unix.W_OK) != nil {
			return "the control group of this process is not delegated to you"
		}
	}
	return ""
}

// ownCgroup finds the path of a process in cgroup v2, in the content of /proc/PID/cgroup.
func ownCgroup(text []byte) (string, bool) {
	for line := range bytes.Lines(text) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "0::"); ok {
			return path, strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/..")
		}
	}
	return "", false
}
