package selfcheck

import (
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// Init makes the checks, and does not return, in a process that was started for that. args is the
// command line. Package sandbox calls it.
func Init(args []string) {
	if len(args) != 3 || args[1] != Word {
		return
	}
	var spec Spec
	if json.Unmarshal([]byte(args[2]), &spec, json.RejectUnknownMembers(true)) != nil {
		syscall.Exit(2)
	}
	text, err := json.Marshal(Run(spec))
	if err != nil {
		syscall.Exit(1)
	}
	if _, err := unix.Write(unix.Stdout, text); err != nil {
		syscall.Exit(1)
	}
	syscall.Exit(ExitCode)
}
