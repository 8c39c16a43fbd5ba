package probe

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

const (
	self      = "/proc/self/exe"
	maxReport = 64 << 10
)

var errNoInit = errors.New("this program cannot try a sandbox: its main function must call perstack.Init first")

// A report is what a probe says about a step.
type report struct {
	Name   string `json:"name"`
	What   string `json:"what,omitzero"` // that failed
	Errno  int    `json:"errno,omitzero"`
	Detail string `json:"detail,omitzero"`
	ABI    int    `json:"abi,omitzero"` // of Landlock
}

// run tries all steps and returns them in their order.
func run(ctx context.Context) ([]Step, facts) {
	f := facts{root: os.Geteuid() == 0}
	text, err := runOuter(ctx)
	steps := read(text, &f)
	steps = append(steps, memoryStep())
	return complete(steps, cmp.Or(ctx.Err(), err)), f
}

// runOuter starts the probe and returns its reports.
func runOuter(ctx context.Context) (text []byte, err error) {
	select {
	case <-initCalled:
	default:
		return nil, errNoInit
	}
	heard, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer heard.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		told.Close()
		return nil, err
	}
	defer null.Close()
	done := make(chan error, 1)
	started := make(chan *os.Process, 1)
	go func() {
		// The kernel ends the probe together with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		process, err := os.StartProcess(self, []string{outerName}, &os.ProcAttr{
			Dir: "/", Env: []string{}, Files: []*os.File{null, null, null, told},
			Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
		})
		told.Close()
		started <- process
		if err == nil {
			_, err = process.Wait()
		}
		done <- err
	}()
	process := <-started
	if process == nil {
		return nil, <-done
	}
	stop := context.AfterFunc(ctx, func() { _ = process.Kill() }) // its child ends with it
	defer stop()
	text, err = io.ReadAll(io.LimitReader(heard, maxReport))
	return text, cmp.Or(<-done, err)
}

// read turns reports into steps. Lines that are not reports are skipped: what is missing fails.
func read(text []byte, f *facts) (steps []Step) {
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) != nil || !slices.Contains(order, r.Name) {
			continue
		}
		s := Step{Name: r.Name, Status: OK, Detail: r.Detail}
		if r.What != "" {
			s.Status, s.Detail = Fail, r.What
		}
		if r.Errno != 0 {
			s.Errno = unix.ErrnoName(unix.Errno(r.Errno))
		}
		if r.Name == Landlock {
			f.abi = r.ABI
		}
		steps = append(steps, s)
	}
	return steps
}

// needs lists the steps without which another one is not tried.
func needs(step string) []string {
	switch step {
	case IDs:
		return []string{Namespaces}
	case Mounts, Network:
		return []string{Namespaces, IDs}
	case Proc, Caches:
		return []string{Namespaces, IDs, Mounts}
	}
	return nil
}

// complete puts steps in order and adds those without a report: they were skipped, or the
// probe ended too early.
func complete(reported []Step, err error) (steps []Step) {
	for _, name := range order {
		i := slices.IndexFunc(reported, func(s Step) bool { return s.Name == name })
		switch {
		case i >= 0:
			steps = append(steps, reported[i])
		case !passed(steps, needs(name)...):
			steps = append(steps, Step{Name: name, Status: Skipped, Detail: "a step before it failed"})
		default:
			why := "the process that tries it ended too early"
			if err != nil {
				why = err.Error()
			}
			steps = append(steps, Step{Name: name, Status: Fail, Detail: "try it", Cause: why})
		}
	}
	return steps
}

// readSysctl returns a setting of the kernel.
func readSysctl(name string) (string, bool) {
	text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	return strings.TrimSpace(string(text)), err == nil
}
