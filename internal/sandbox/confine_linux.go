package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Landlock can only restrict the calling process, and Go runs no code of ours between fork
// and exec. So the supervisor starts this binary again, which applies the policy to itself
// and then executes the program.

const (
	// confinedName is the whole command line of this binary before it executes the program.
	confinedName = "perstack-confined"
	// requestFD is a file with the message that asks for the program. reportFD is the pipe
	// that tells the supervisor why the program could not be started. It closes when the
	// program takes over, and when the process is killed before; the supervisor then sees
	// the end of the program.
	requestFD = 3
	reportFD  = 4

	maxReport = headerSize + maxReason + 64 // the reason and two numbers
)

// startConfined starts a program under its policy, and returns when it runs.
func (k *supervisorLoop) startConfined(r request, p *policy.Policy) (*runningProgram, error) {
	pid, heard, group, err := startSelf(confinedName, r, &syscall.SysProcAttr{Setsid: true}, k.groups.program(r.id, p.Limits))
	if err != nil {
		return nil, err
	}
	defer heard.Close()
	told, _ := io.ReadAll(io.LimitReader(heard, maxReport)) // nothing, if all went well
	if len(told) > 0 {
		wait(pid)
		group.remove()
		return nil, notStarted(told)
	}
	w := limitedProgram(pid, p.Limits, group)
	w.holdProcEntries()
	return w, nil
}

// startSelf starts this binary with the streams of a program, the request for it, and a pipe
// for its report. It returns the control group if that is used, and removes it otherwise.
func startSelf(name string, r request, sys *syscall.SysProcAttr, group *programGroup) (pid int, heard *os.File, in *programGroup, err error) {
	defer func() {
		if in == nil {
			group.remove()
		}
	}()
	file, err := requestFile(&r.message)
	if err != nil {
		return 0, nil, nil, err
	}
	defer file.Close()
	heard, report, err := os.Pipe()
	if err != nil {
		return 0, nil, nil, err
	}
	defer report.Close()
	self, err := ownProgram()
	if err == nil {
		in, err = group.start(sys, func(sys *syscall.SysProcAttr) (err error) {
			pid, err = fork(self, []string{name}, []string{}, append(r.files[:3:3], file, report), sys)
			return err
		})
	}
	if err != nil {
		heard.Close()
		return 0, nil, nil, err
	}
	return pid, heard, in, nil
}

// notStarted reads the report that a program could not be started.
func notStarted(report []byte) error {
	m, err := decode(report)
	if err != nil || m.kind != kindFailed {
		return errProtocol
	}
	return failure(m)
}

// sealed are the changes that a request file no longer allows. They also identify it: a
// file that a user happens to have open as descriptor 3 does not have these seals.
const sealed = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// requestFile returns a file in memory that holds a message of any length.
func requestFile(m *message) (*os.File, error) {
	fd, err := unix.MemfdCreate(confinedName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), confinedName)
	data, err := m.encode()
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, sealed)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func isRequestFile(fd uintptr) bool {
	seals, err := unix.FcntlInt(fd, unix.F_GET_SEALS, 0)
	return err == nil && seals&sealed == sealed
}

// becomeConfinedProgram does not return in a process that startConfined started.
func becomeConfinedProgram() {
	if len(os.Args) != 1 || os.Args[0] != confinedName || !isRequestFile(requestFD) {
		return
	}
	runtime.LockOSThread()
	unix.CloseOnExec(reportFD)
	report, _ := failed(0, execConfined()).encode()
	_, _ = unix.Write(reportFD, report)
	syscall.Exit(1)
}

// execConfined applies the policy and executes the program. It returns only if it fails.
func execConfined() error {
	m, err := readRequest(requestFD)
	if err != nil {
		return err
	}
	p, err := policy.Decode(m.policy)
	if err != nil {
		return err
	}
	couldRun := unix.Access(m.path, unix.X_OK) == nil
	limits := p.Limits
	limits.Tasks = 0 // the kernel would count the other processes of the user too
	limitResources(limits)
	killFirst()
	if err := landlockPolicy(p).Restrict(); err != nil {
		return errors.New(err.Error()) // without its errno, which would seem to be about the program
	}
	err = explain(m.path, syscall.Exec(m.path, m.argv, m.env))
	if errors.Is(err, unix.EACCES) && couldRun {
		return ErrOutside // the policy forbids it, not the mode of the file
	}
	return err
}

func readRequest(fd uintptr) (message, error) {
	f := os.NewFile(fd, "request")
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return message{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, headerSize+maxMessage))
	if err != nil {
		return message{}, err
	}
	m, err := decode(data)
	if err == nil && m.kind != kindStart {
		err = fmt.Errorf("%w: no request to start a program", errProtocol)
	}
	return m, err
}

// landlockPolicy is the part of a policy that Landlock enforces.
func landlockPolicy(p *policy.Policy) *landlock.Policy {
	l := &landlock.Policy{Read: slices.Clone(p.Read), Opened: p.Opened, Write: slices.Clone(p.Write), Ports: p.Ports, FixedMetadata: p.FixedMetadata, Changeable: p.Changeable()}
	switch w := p.Workspace; {
	case w.CanWrite():
		l.Write = append(l.Write, w.Path)
	case w.CanRead():
		l.Read = append(l.Read, w.Path)
	}
	return l
}

// holdProcEntries keeps the program's files in /proc open; see [landlock.ProcEntries]. One
// that cannot be opened is skipped.
func (w *runningProgram) holdProcEntries() {
	for _, path := range landlock.ProcEntries(w.pid) {
		if fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
			w.procEntries = append(w.procEntries, os.NewFile(uintptr(fd), path))
		}
	}
}
