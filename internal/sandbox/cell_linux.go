package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/cell"
)

// A program cannot be put into a cell from outside, and between the birth of a process and
// its program no code of ours can run. So the supervisor starts this program again, which
// locks itself in and then becomes the other one.

const (
	// cellName is the whole command line of this program on its way into a cell.
	cellName = "perstack-cell"
	// orderFD is a file with the message that asks for the program, reportFD the pipe by
	// which the supervisor hears why it could not be started. It ends with the old program:
	// when the other one takes its place, or when it is killed on the way. That is then
	// heard as the end of the program.
	orderFD  = 3
	reportFD = 4

	maxReport = maxReason + 64 // and the numbers beside the reason
)

// lockIn starts a program in a cell, and returns when it runs there.
func (k *keeper) lockIn(r request) (pid int, err error) {
	order, err := orderFile(&r.message)
	if err != nil {
		return 0, err
	}
	defer order.Close()
	heard, report, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer heard.Close()
	self, err := ownProgram()
	if err == nil {
		pid, err = fork(self, []string{cellName}, []string{}, append(r.files[1:4:4], order, report))
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
	m, err := decode(kindFailed, told)
	if err != nil {
		return 0, err
	}
	return 0, failure(m)
}

// sealed is what nobody can do to an order any more. By that it is also known: no file that
// a user may have open as number 3 is like this.
const sealed = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// orderFile holds a message, however long it is, and is gone when it is closed.
func orderFile(m *message) (*os.File, error) {
	fd, err := unix.MemfdCreate(cellName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), cellName)
	header, body, err := m.encode()
	if err == nil {
		_, err = f.Write(append(header, body...))
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

func isOrder(fd uintptr) bool {
	seals, err := unix.FcntlInt(fd, unix.F_GET_SEALS, 0)
	return err == nil && seals&sealed == sealed
}

// enterCell does not return in a process that was started to become another program.
func enterCell() {
	if len(os.Args) != 1 || os.Args[0] != cellName || !isOrder(orderFD) {
		return
	}
	runtime.LockOSThread()
	unix.CloseOnExec(reportFD)
	_, body, _ := failed(0, becomeProgram()).encode()
	_, _ = unix.Write(reportFD, body)
	syscall.Exit(1)
}

// becomeProgram returns only if it fails.
func becomeProgram() error {
	order, err := readOrder()
	if err != nil {
		return err
	}
	c, err := cell.Decode(order.cell)
	if err != nil {
		return err
	}
	couldRun := unix.Access(order.path, unix.X_OK) == nil
	if err := c.Enter(); err != nil {
		return errors.New(err.Error()) // not to be taken for what the system says of the program
	}
	err = explain(order.path, syscall.Exec(order.path, order.argv, order.env))
	if errors.Is(err, unix.EACCES) && couldRun {
		return ErrOutside // the file itself is fine
	}
	return err
}

func readOrder() (message, error) {
	f := os.NewFile(orderFD, "order")
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return message{}, err
	}
	all, err := io.ReadAll(io.LimitReader(f, headerSize+maxMessage))
	if err != nil || len(all) < headerSize {
		return message{}, errProtocol
	}
	kind, size, err := decodeHeader(all, maxMessage)
	if err != nil || size != len(all)-headerSize || kind != kindStart {
		return message{}, fmt.Errorf("%w: no order", errProtocol)
	}
	return decode(kind, all[headerSize:])
}

// lockedIn notes what the cell of a program asks of whoever started it.
func (w *ward) lockedIn(text string) {
	if c, err := cell.Decode(text); err == nil { // as it did for the program a moment ago
		w.most = c.MaxTasks
	}
	w.keepVisible()
}

// keepVisible keeps what the kernel knows of the program's entries in /proc: see
// [cell.Entries]. One that is not there, or does not stay, is one less to be seen.
func (w *ward) keepVisible() {
	for _, path := range cell.Entries(w.pid) {
		if fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
			w.visible = append(w.visible, os.NewFile(uintptr(fd), path))
		}
	}
}
