package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// platformSafe reports the variables that programs need to start at all on Windows.
func platformSafe(name string) bool {
	return slices.Contains([]string{
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATH", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME",
		"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROCESSOR_ARCHITECTURE",
		"NUMBER_OF_PROCESSORS",
	}, strings.ToUpper(name))
}

func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

// withExtension refuses batch files: Windows runs them by cmd.exe, which would
// interpret the arguments.
func withExtension(program string) (string, error) {
	switch strings.ToLower(filepath.Ext(strings.TrimRight(program, " ."))) {
	case ".bat", ".cmd":
		return "", fmt.Errorf("%w: %q is a batch file, which a shell would interpret", ErrInvalid, program)
	}
	return program, nil
}

func executable(path string) (string, error) {
	if _, err := withExtension(path); err != nil {
		return "", ErrInvalid
	}
	for _, candidate := range []string{path, path + ".exe", path + ".com"} {
		ext := strings.ToLower(filepath.Ext(candidate))
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() && (ext == ".exe" || ext == ".com") {
			return candidate, nil
		}
	}
	return "", ErrNotFound
}

// Init does nothing here: job objects end the commands, and need no second process.
func Init() {}

// Harden does nothing here. Children inherit only the handles that are passed on
// explicitly, and Windows cannot keep processes of one user from reading each other's
// memory.
func Harden() error { return nil }

// A link keeps the programs of this process. There is no supervisor process: the system
// ends everything in a job object when the last handle to it closes, and this process has
// the only one.
type link struct {
	mu   sync.Mutex
	over bool
	live map[*child]struct{}

	sandbox string // always empty: there are none
}

// supervisorPIDs is not needed here.
type supervisorPIDs struct{}

// A child is a program and the job object around it: what the program starts belongs to
// the job too, and cannot leave.
type child struct {
	mu    sync.Mutex
	job   windows.Handle // 0 when it is closed
	ended chan struct{}
	state *os.ProcessState // set before ended is closed

	// Here the outcome is always known, and there is no limit.
	err   error
	limit string
}

func newLink(_ context.Context, _ time.Duration, _ *supervisorPIDs, c Command) (*link, error) {
	if c.Policy.Restricts() {
		return nil, fmt.Errorf("%w: Windows has no sandbox of level %s", errSupervisor, c.Policy.Level)
	}
	return &link{live: make(map[*child]struct{})}, nil
}

func (l *link) isLost() bool { return false }

func (l *link) start(p program) (*child, error) {
	l.mu.Lock() // so that nothing starts during close
	defer l.mu.Unlock()
	if l.over {
		return nil, errClosed
	}
	cmd := &exec.Cmd{
		Path: p.path, Args: p.argv, Env: p.env, Dir: p.dir,
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr,
		SysProcAttr: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{ended: make(chan struct{})}
	if err := c.adopt(cmd.Process); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	l.live[c] = struct{}{}
	go func() {
		_ = cmd.Wait() // the status is in ProcessState; there is nothing else to fail
		c.kill()       // what it left in the background
		l.mu.Lock()
		delete(l.live, c)
		c.release()
		l.mu.Unlock()
		c.state = cmd.ProcessState
		close(c.ended)
	}()
	return c, nil
}

// release kills everything and returns what has not ended yet.
func (l *link) release() (live []*child) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for c := range l.live {
		c.kill()
		live = append(live, c)
	}
	return live
}

func (l *link) close() error {
	for _, c := range l.release() {
		<-c.ended
	}
	return nil
}

// terminate does nothing: a program without a console cannot be asked to end.
func (c *child) terminate() {}

func (c *child) status() (exitCode int, signal string) { return c.state.ExitCode(), "" }

func (c *child) adopt(p *os.Process) error {
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
	c.job = job
	return nil
}

// kill and release can come in any order.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.job != 0 {
		_ = windows.TerminateJobObject(c.job, 1)
	}
}

// release closes the handle, and with it ends what is still in the job.
func (c *child) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = windows.CloseHandle(c.job)
	c.job = 0
}
