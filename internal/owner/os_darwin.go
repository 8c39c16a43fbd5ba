package owner

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}

func machineID() string {
	id, _ := unix.Sysctl("kern.uuid")
	return id
}

// pidNamespace: there is one for the whole system.
func pidNamespace() string { return "system" }

func look(pid int) process {
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return process{state: gone}
	}
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return process{}
	}
	return process{state: running, start: strconv.FormatInt(p.Proc.P_starttime.Nano(), 10)}
}
