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

// An Answer is typed when a text is on the screen.
type Answer struct {
	After, Type string
	Before      func() // called before; nil for nothing
	// Columns and Rows are the new size of the terminal; 0 leaves it as it is.
	Columns, Rows uint16
}

// Press answers a question about a tool call: with a letter when the question takes one, and with Enter
// when the letter is on the screen.
func Press(letter string) []Answer {
	return []Answer{{After: "? help\r\n> ", Type: letter}, {After: letter, Type: "\r"}}
}

// OnTerminal runs cmd with a pseudo terminal as its standard streams, and returns what
// it wrote there and how it ended. The answers are given one after the other.
func OnTerminal(cmd *exec.Cmd, answers ...Answer) ([]byte, error) {
	screen, keyboard, err := OpenTerminal()
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
	seen, chunk := 0, make([]byte, 4096)
	for {
		n, err := screen.Read(chunk)
		out.Write(chunk[:n])
		for len(answers) > 0 {
			i := bytes.Index(out.Bytes()[seen:], []byte(answers[0].After))
			if i < 0 {
				break
			}
			seen += i + len(answers[0].After)
			if before := answers[0].Before; before != nil {
				before()
			}
			if size := (&unix.Winsize{Col: answers[0].Columns, Row: answers[0].Rows}); size.Col > 0 {
				if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, size); err != nil {
					return nil, err
				}
			}
			if _, err := screen.WriteString(answers[0].Type); err != nil {
				return nil, err
			}
			answers = answers[1:]
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO) {
			return nil, err
		}
		if err != nil { // EIO only says that the last writer is gone
			return out.Bytes(), cmd.Wait()
		}
	}
}

// OpenTerminal returns both ends of a new pseudo terminal. Closing one ends reads of it.
func OpenTerminal() (screen, keyboard *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	screen = os.NewFile(uintptr(fd), "/dev/ptmx")
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
