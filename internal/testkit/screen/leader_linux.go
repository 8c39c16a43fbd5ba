package screen

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// leaderName is the first argument of the process that leads the session.
	leaderName = "screen-leader"
	reportFD   = 3 // what it tells the test
	commandFD  = 4 // what the test tells it
)

// initCalled is closed when TestMain has called Init.
var (
	initCalled = make(chan struct{})
	markInit   = sync.OnceFunc(func() { close(initCalled) })
)

// Init makes this test program able to lead the session of a terminal. TestMain calls it first.
func Init() {
	if os.Args[0] == leaderName && len(os.Args) > 1 {
		if err := lead(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, leaderName+":", err)
			syscall.Exit(1)
		}
		syscall.Exit(0)
	}
	markInit()
}

// A state is how the kernel describes a process that stopped or ended.
type state struct {
	pid    int
	status syscall.WaitStatus
}

// lead does the work of a shell: it runs a program in the foreground of the terminal, and takes the
// terminal back when the program stops. It reports each change to the test. It ends when the test has
// closed the pipe, so that the terminal is not hung up before the test has looked at it.
func lead(path string, argv []string) error {
	unix.CloseOnExec(reportFD)
	unix.CloseOnExec(commandFD)
	signal.Ignore(syscall.SIGTTOU, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP)
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)

	pid, err := startForeground(path, argv)
	if err != nil {
		return err
	}
	report := os.NewFile(reportFD, "report")
	tell := func(s state) error {
		_, err := fmt.Fprintln(report, s.pid, uint32(s.status))
		return err
	}
	if err := tell(state{pid: pid, status: continued}); err != nil {
		return err
	}
	go func() {
		<-hangUp // a shell passes it on
		_ = unix.Kill(-pid, syscall.SIGHUP)
		_ = unix.Kill(-pid, syscall.SIGCONT)
	}()
	go func() {
		for {
			s := state{pid: pid}
			_, err := syscall.Wait4(pid, &s.status, syscall.WUNTRACED, nil)
			if err == syscall.EINTR {
				continue
			}
			_ = foreground(unix.Getpgrp())
			if err != nil || tell(s) != nil || !s.status.Stopped() {
				return
			}
		}
	}()
	for commands := bufio.NewScanner(os.NewFile(commandFD, "commands")); commands.Scan(); { // each line means fg
		if err := foreground(pid); err != nil {
			return err
		}
		if err := unix.Kill(-pid, syscall.SIGCONT); err != nil {
			return err
		}
	}
	return nil
}

// continued is the status of a process that runs.
const continued = syscall.WaitStatus(0xffff)

// startForeground starts a program in a process group of its own that has the terminal. Signals that
// are ignored here would be ignored there: Go resets those that it has handlers for, so they get one.
func startForeground(path string, argv []string) (int, error) {
	signals := []os.Signal{syscall.SIGTTOU, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, signals...)
	defer signal.Ignore(signals...)
	cmd := &exec.Cmd{
		Path: path, Args: argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Foreground: true},
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

func foreground(group int) error { return unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) }
