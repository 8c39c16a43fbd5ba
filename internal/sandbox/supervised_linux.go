package sandbox

import (
	"bytes"
	"os"
	"strconv"
)

// Supervised reports whether a process was started by a job: a supervisor is among its ancestors. A
// supervisor adopts the orphans below it, so a process cannot leave it. Only Linux knows.
func Supervised(pid int) bool {
	for range 1000 { // more than any chain of processes has
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
