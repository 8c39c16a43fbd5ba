package sandbox

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// await returns when the child has ended, and leaves it unreaped: so long its number
// cannot be given to another process, and a signal to the group cannot hit a stranger.
func (g *group) await(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
