//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes gives the child a session of its own, and with it a process group numbered
// like the child. A group alone would keep the user's terminal: through /dev/tty a
// command could draw on it, and type (TIOCSTI) into the shell that comes after us.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// A group is a process group.
type group struct {
	id    int
	state *os.ProcessState
}

func (g *group) adopt(p *os.Process) error {
	g.id = p.Pid
	return nil
}

// terminate and kill ignore that nobody is left.
func (g *group) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }
func (g *group) kill()      { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// reap collects the child's status, and gives its number back to the system.
func (g *group) reap(cmd *exec.Cmd) *os.ProcessState {
	if g.state == nil {
		_ = cmd.Wait() // the status is in ProcessState; there is nothing else to fail
		g.state = cmd.ProcessState
	}
	return g.state
}

func signalName(state *os.ProcessState) string {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	if name := unix.SignalName(ws.Signal()); name != "" {
		return name
	}
	return ws.Signal().String()
}
