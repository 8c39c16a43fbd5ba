package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
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
func (k *supervisorLoop) startConfined(r request) (pid int, err error) {
	file, err := requestFile(&r.message)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	heard, report, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer heard.Close()
	self, err := ownProgram()
	if err == nil {
		pid, err = fork(self, []string{confinedName}, []string{}, append(r.files[1:4:4], file, report))
	}
	report.Close()
	if err != nil {
		return 0, err
	}
	told, _ := io.ReadAll(io.LimitReader(heard, maxReport)) // nothing, if all went well
	if len(told) == 0 {
		return pid, nil
	}
	wait(pid)
	m, err := decode(told)
	if err != nil || m.kind != kindFailed {
		return 0, errProtocol
	}
	return 0, failure(m)
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
	m, err := readRequest()
	if err != nil {
		return err
	}
	c, err := landlock.Decode(m.policy)
	if err != nil {
		return err
	}
	couldRun := unix.Access(m.path, unix.X_OK) == nil
	if err := c.Restrict(); err != nil {
		return errors.New(err.Error()) // without its errno, which would seem to be about the program
	}
	err = explain(m.path, syscall.Exec(m.path, m.argv, m.env))
	if errors.Is(err, unix.EACCES) && couldRun {
		return ErrOutside // the policy forbids it, not the mode of the file
	}
	return err
}

func readRequest() (message, error) {
	f := os.NewFile(requestFD, "request")
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

// noteConfined records what the policy of a program asks of the supervisor.
func (w *runningProgram) noteConfined(text string) {
	if c, err := landlock.Decode(text); err == nil { // the process decoded it a moment ago
		w.maxTasks = c.MaxTasks
	}
	w.holdProcEntries()
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
