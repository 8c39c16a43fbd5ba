package sandbox

import (
	"bytes"
	"os"
	"strconv"
)

// Supervised reports whether a process was started by a job: a supervisor is among its ancestors. A
// supervisor adopts the orphans below it, so a process cannot leave it. Only Linux knows.
func Supervised(pid int) bool {
	for range maxAncestors {
		if pid <= 1 {
			return false
		}
		dir := "/proc/" + strconv.Itoa(pid)
		line, err := os.ReadFile(dir + "/cmdline")
		if err != nil {
			return false
		}
		if name, _, _ := bytes.Cut(line, []byte{0}); string(name) == supervisorName {
			return true
		}
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			return false
		}
		// The name of the program, in parentheses, can have anything in it.
		_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		fields := bytes.Fields(rest)
		if len(fields) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(string(fields[1])); err != nil {
			return false
		}
	}
	return false
}

// maxAncestors is how many processes can start one another in a row before the search ends.
const maxAncestors = 10_000
