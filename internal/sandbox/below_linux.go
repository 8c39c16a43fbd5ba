package sandbox

import (
	"bytes"
	"os"
	"strconv"
)

// maxAncestors is more than any chain of processes has.
const maxAncestors = 1000

// BelowSupervisor reports whether this process was started by a job: by a command, by a skill, or by
// what they started. Supervisors inherit the orphans among their descendants, so that none leaves
// this chain.
func BelowSupervisor() bool {
	pid := os.Getppid()
	for range maxAncestors {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil {
			return false // the end of what this process can see
		}
		if string(bytes.TrimRight(line, "\x00")) == supervisorName {
			return true
		}
		p, err := readProc(pid)
		if err != nil || p.parent <= 1 {
			return false
		}
		pid = p.parent
	}
	return false
}
