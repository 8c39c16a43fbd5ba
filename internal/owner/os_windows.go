package owner

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

// bootID is empty: Windows has no boot id. The start time of a process tells boots apart.
func bootID() string { return "" }

// machineID is empty: the name of the machine is used.
func machineID() string { return "" }

// pidNamespace: there is one for the whole system.
func pidNamespace() string { return "system" }

func look(pid int) process {
	const access = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	h, err := windows.OpenProcess(access, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return process{state: gone}
	}
	if err != nil {
		return process{}
	}
	defer windows.CloseHandle(h)
	// A process that has ended still exists while another one has a handle to it.
	if event, err := windows.WaitForSingleObject(h, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return process{state: gone}
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return process{}
	}
	return process{state: running, start: strconv.FormatInt(created.Nanoseconds(), 10)}
}
