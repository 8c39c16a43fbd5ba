package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// OnTerminal runs cmd with a pseudo terminal as its standard streams, and returns what
// it wrote there and how it ended.
func OnTerminal(cmd *exec.Cmd) ([]byte, error) { return Dialogue(cmd, "", "") }

// Dialogue is [OnTerminal] with a user who types keys once the question is on the screen.
func Dialogue(cmd *exec.Cmd, question, keys string) ([]byte, error) {
	screen, keyboard, err := openTerminal()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	defer screen.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = keyboard, keyboard, keyboard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	keyboard.Close()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	part := make([]byte, 4096)
	for {
		n, err := screen.Read(part)
		out.Write(part[:n])
		if keys != "" && bytes.Contains(out.Bytes(), []byte(question)) {
			if _, err := screen.WriteString(keys); err != nil {
				return out.Bytes(), err
			}
			keys = ""
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO) {
			return nil, err // EIO only says that the last writer is gone
		}
		if err != nil {
			return out.Bytes(), cmd.Wait()
		}
	}
}

// openTerminal returns both ends of a new pseudo terminal.
func openTerminal() (screen, keyboard *os.File, err error) {
	screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		keyboard, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		screen.Close()
		return nil, nil, err
	}
	return screen, keyboard, nil
}
