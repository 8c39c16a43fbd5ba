package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A process is a running program and the pipes it writes to.
type process struct {
	cmd   *exec.Cmd
	group group // what belongs to it; see group_*.go

	readers []*os.File // our ends of stdout and stderr
	streams []*stream
	copying sync.WaitGroup
	watch   watcher
}

// start brings a process into being. It is the one function of the program that does.
func start(path string, c Command, env []string) (*process, error) {
	p := &process{watch: watcher{call: c.Watch}}
	null, err := os.Open(os.DevNull) // a program that reads must see the end, not wait
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Program, err)
	}
	defer null.Close()
	p.cmd = &exec.Cmd{
		Path:        path,
		Args:        append([]string{c.Program}, c.Args...),
		Dir:         c.Dir,
		Env:         env,
		Stdin:       null,
		SysProcAttr: attributes(),
	}
	// The pipes are our own: with those of os/exec, Wait would not return before
	// everybody who inherited them is gone.
	outEnd, errEnd, err := p.pipes(c.MaxOutput)
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Program, err)
	}
	p.cmd.Stdout, p.cmd.Stderr = outEnd, errEnd
	err = p.cmd.Start()
	outEnd.Close()
	errEnd.Close()
	if err == nil {
		if err = p.group.adopt(p.cmd.Process); err == nil {
			c.Tracker.add(&p.group)
		} else {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	}
	if err != nil {
		p.closeReaders()
		return nil, startError(c.Program, err)
	}
	for i, r := range p.readers {
		s := p.streams[i]
		p.copying.Go(func() { _, _ = io.Copy(io.MultiWriter(s, &p.watch), r) })
	}
	return p, nil
}

func (p *process) pipes(limit int) (outEnd, errEnd *os.File, err error) {
	outRead, outEnd, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	errRead, errEnd, err := os.Pipe()
	if err != nil {
		outRead.Close()
		outEnd.Close()
		return nil, nil, err
	}
	p.readers = []*os.File{outRead, errRead}
	p.streams = []*stream{newStream(limit), newStream(limit)}
	return outEnd, errEnd, nil
}

// startError words the failure without the paths of the machine.
func startError(program string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %q", ErrNotFound, program)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %q", ErrPermission, program)
	case errors.As(err, &errno):
		return fmt.Errorf("start %q: %w", program, errno)
	}
	return fmt.Errorf("start %q: %w", program, err)
}

// supervise returns when the program has ended and its group was killed. A program
// that overstays is asked to end, given some grace, and then killed with all it
// started, whether it listens or not.
func (p *process) supervise(ctx context.Context, timeout, grace time.Duration) (timedOut, cancelled bool) {
	if grace <= 0 {
		grace = defaultGrace
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.group.await(p.cmd)
	}()
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-ended:
	case <-expired:
		timedOut = true
	case <-ctx.Done():
		cancelled = true
	}
	if timedOut || cancelled {
		p.group.terminate()
		patience := time.NewTimer(grace)
		defer patience.Stop()
		select {
		case <-ended:
		case <-patience.C:
		}
	}
	// Also after a good end: what a program leaves running in the background would
	// hold the pipe, and outlive the run.
	p.group.kill()
	<-ended
	return timedOut, cancelled
}

// result collects the exit status.
func (p *process) result() (exitCode int, signal string) {
	state := p.group.reap(p.cmd)
	if state == nil {
		return -1, ""
	}
	return state.ExitCode(), signalName(state)
}

// output waits for the last bytes. A process that left the group may still hold the
// pipe; it is not waited for longer than drain.
func (p *process) output() (stdout, stderr Output) {
	done := make(chan struct{})
	go func() {
		p.copying.Wait()
		close(done)
	}()
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	p.closeReaders()
	p.watch.stop()
	return p.streams[0].output(), p.streams[1].output()
}

func (p *process) closeReaders() {
	for _, r := range p.readers {
		r.Close()
	}
}

// A watcher hands output on, one chunk at a time, until it is stopped.
type watcher struct {
	mu   sync.Mutex
	call func([]byte)
}

func (w *watcher) Write(chunk []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call != nil {
		w.call(chunk)
	}
	return len(chunk), nil
}

func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call = nil
}
