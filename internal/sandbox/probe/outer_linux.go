package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
)

// A failure is what the kernel refused.
type failure struct {
	what string
	err  error
}

func (f *failure) Error() string { return f.what + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// try names what is done, for the report.
func try(what string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{what, err}
}

// tell reports a step. A reader that is gone needs no report.
func tell(name string, err error, detail string, abi int) {
	r := report{Name: name, Detail: detail, ABI: abi}
	if err != nil {
		r.What = err.Error()
		if f, ok := errors.AsType[*failure](err); ok {
			r.What = f.what
		}
		if errno, ok := errors.AsType[unix.Errno](err); ok {
			r.Errno = int(errno)
		}
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, _ = unix.Write(reportFD, append(line, '\n'))
	}
}

// beOuter makes the namespaces and says what needs none.
func beOuter() {
	runtime.LockOSThread() // which the inner process ends with
	unix.CloseOnExec(reportFD)
	inner, mapped, err := startInner()
	tell(Namespaces, try("create user, mount, pid, net, ipc and uts namespaces", err), "", 0)
	if err == nil {
		err = mapIDs(inner.Pid)
		tell(IDs, err, "", 0)
		if err != nil {
			_ = inner.Kill()
		}
		mapped.Close()
		_, _ = inner.Wait()
	}
	abi, err := landlock.ABI()
	detail := fmt.Sprintf("version %d", abi)
	if more := landlockDetail(abi); more != "" {
		detail += "; " + more
	}
	tell(Landlock, try("ask for the version of Landlock", err), detail, abi)
	tell(Seccomp, try("filter system calls", landlock.FilterAvailable()), "", 0)
}

// startInner starts this program in namespaces of its own. The inner process waits until mapped is
// closed.
func startInner() (inner *os.Process, mapped *os.File, err error) {
	wait, mapped, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer wait.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		mapped.Close()
		return nil, nil, err
	}
	defer null.Close()
	report, err := unix.FcntlInt(reportFD, unix.F_DUPFD_CLOEXEC, 0) // this process writes there, too
	if err != nil {
		mapped.Close()
		return nil, nil, err
	}
	told := os.NewFile(uintptr(report), "report")
	defer told.Close()
	inner, err = os.StartProcess(self, []string{innerName}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{null, null, null, told, wait},
		Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
			// A user other than 0 loses its capabilities when a program starts, but for these. The
			// last is for overlayfs, whose work directory has the mode 000.
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE},
			// Package syscall then also signals a process whose parent has another number than it
			// expects, as this one in its new namespace. It survives as the first one there.
			Pdeathsig: syscall.SIGKILL,
		},
	})
	if err != nil {
		mapped.Close()
	}
	return inner, mapped, err
}

// mapIDs maps user and group of this process to themselves. Package os could do it, and would not
// say which file the kernel refused.
func mapIDs(pid int) error {
	uid, gid := os.Geteuid(), os.Getegid()
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1\n", uid, uid)},
		{"gid_map", fmt.Sprintf("%d %d 1\n", gid, gid)},
	} {
		err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, f.name), []byte(f.text), 0)
		if err != nil {
			return try("write "+f.name+" of the user namespace", err)
		}
	}
	return nil
}
