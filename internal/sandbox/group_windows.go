package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// A group is a job object: what the child starts is in it too, and cannot leave.
type group struct {
	job   windows.Handle
	state *os.ProcessState
}

func (g *group) adopt(p *os.Process) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, // also when perstack dies
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var assigned error
		err = p.WithHandle(func(handle uintptr) {
			assigned = windows.AssignProcessToJobObject(job, windows.Handle(handle))
		})
		err = errors.Join(err, assigned)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	g.job = job
	return nil
}

// terminate does nothing: a program without a console cannot be asked to end.
func (g *group) terminate() {}

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

func (g *group) await(cmd *exec.Cmd) { g.wait(cmd) }

func (g *group) wait(cmd *exec.Cmd) {
	if g.state == nil {
		_ = cmd.Wait()
		g.state = cmd.ProcessState
	}
}

func (g *group) reap(cmd *exec.Cmd) *os.ProcessState {
	g.wait(cmd)
	_ = windows.CloseHandle(g.job)
	return g.state
}

func signalName(*os.ProcessState) string { return "" }
