package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/perstack-go/perstack/internal/stopwatch"
)

// A process is a running program and the pipes it writes to.
type process struct {
	*child // the program itself; see link_*.go

	readers []*os.File // our ends of stdout and stderr
	copying sync.WaitGroup

	mu      sync.Mutex
	streams []*stream
	watch   func(Stream, []byte) // nil when the output is not passed on, or no longer
}

// start starts a program without input, and collects its output.
func (s *Supervisor) start(ctx context.Context, path string, c Command, env []string) (*process, error) {
	l, err := s.connect(ctx, c)
	if err != nil {
		return nil, err
	}
	p := &process{watch: c.Watch, streams: []*stream{newStream(c.MaxOutput), newStream(c.MaxOutput)}}
	null, err := os.Open(os.DevNull) // a program that reads must see the end, not wait
	if err != nil {
		return nil, startError(c.Program, err)
	}
	defer null.Close()
	started := program{path: path, env: env, stdin: null}
	if p.readers, err = started.pipes(); err != nil {
		return nil, startError(c.Program, err)
	}
	p.child, err = s.launch(l, c, started)
	closeAll(started.stdout, started.stderr)
	if err != nil {
		closeAll(p.readers...)
		return nil, err
	}
	for i, r := range p.readers {
		p.copying.Go(func() { p.copy(Stream(i), r) })
	}
	return p, nil
}

// copy collects what the program writes to a stream, and passes it on.
func (p *process) copy(from Stream, r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		p.mu.Lock()
		p.streams[from].write(buf[:n])
		if p.watch != nil && n > 0 {
			p.watch(from, buf[:n])
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// A program is what a link starts.
type program struct {
	path                  string
	argv, env             []string
	dir                   string
	openDir               *os.File // may be nil
	policy                string
	confined              bool // by the policy
	inNamespaces          bool
	stdin, stdout, stderr *os.File
}

// launch starts a command that was looked up and has its streams.
func (s *Supervisor) launch(l *link, c Command, p program) (*child, error) {
	p.argv, p.dir, p.openDir, p.inNamespaces = append([]string{c.Program}, c.Args...), c.Dir, c.OpenDir, c.inNamespaces()
	var err error
	if p.policy, err = c.Policy.Encode(); err != nil {
		return nil, startError(c.Program, err)
	}
	p.confined = c.Policy.Restricts()
	watched := s.watchDisk(c.Policy)
	started, err := l.start(p)
	if err != nil {
		watched(nil)
	}
	switch {
	case err == nil:
		watched(started.ended)
		return started, nil
	case s.isOver():
		return nil, errClosed // Close was faster
	case p.inNamespaces && errors.Is(err, ErrNotFound):
		if found, lookErr := LookPath(c.Program, p.env); lookErr == nil && found != c.Program {
			err = ErrOutside // the machine has it
		}
	}
	return nil, startError(c.Program, err)
}

// pipes gives the program the streams that it does not have yet, and returns our ends of
// them in that order. The pipes are our own: with those of os/exec, Wait would not return
// before every process that inherited them has ended.
func (p *program) pipes() (ours []*os.File, err error) {
	var theirs []*os.File
	for _, stream := range []**os.File{&p.stdin, &p.stdout, &p.stderr} {
		if *stream != nil {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours...)
			closeAll(theirs...)
			return nil, err
		}
		if stream == &p.stdin {
			r, w = w, r
		}
		*stream = w
		ours, theirs = append(ours, r), append(theirs, w)
	}
	return ours, nil
}

// startError words the failure without the paths of the machine.
func startError(program string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, ErrLost) || errors.Is(err, errSupervisor):
		return fmt.Errorf("start %q: %w", program, err)
	case errors.Is(err, ErrOutside):
		return fmt.Errorf("%w: %q", ErrOutside, program)
	case errors.Is(err, ErrInterpreter):
		return fmt.Errorf("%w: %q: %w", ErrNotFound, program, ErrInterpreter)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrNotFound):
		return fmt.Errorf("%w: %q", ErrNotFound, program)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, ErrPermission):
		return fmt.Errorf("%w: %q", ErrPermission, program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: %q", ErrFormat, program)
	case errors.As(err, &errno):
		return fmt.Errorf("start %q: %w", program, errno)
	}
	return fmt.Errorf("start %q: %w", program, err)
}

// ErrInterpreter comes with [ErrNotFound]: the program is there, and its interpreter is missing.
var ErrInterpreter = errors.New("the file is there, but its interpreter (the program in its #! line) or its loader is not")

// errSupervisor says that commands cannot be run at all.
var errSupervisor = errors.New("commands cannot be supervised")

// supervise returns when the program has ended and its group was killed. A program that
// exceeds its time is asked to end, given some grace, and then killed with all it started.
func (p *process) supervise(ctx context.Context, clock *stopwatch.Clock, timeout, grace time.Duration) (timedOut, cancelled bool, err error) {
	expired := make(chan struct{})
	if timeout > 0 {
		defer clock.AfterFunc(timeout, func() { close(expired) }).Stop()
	}
	select {
	case <-p.ended:
		return false, false, p.err
	case <-expired:
		timedOut = true
	case <-ctx.Done():
		cancelled = true
	}
	p.terminate()
	select {
	case <-p.ended:
	case <-time.After(cmp.Or(max(grace, 0), defaultGrace)):
		p.kill()
		<-p.ended
	}
	return timedOut, cancelled, p.err
}

// output waits for the last bytes, at most for the time drain: a process that was not
// found may still hold the pipe.
func (p *process) output() (stdout, stderr Output) {
	done := make(chan struct{})
	go func() {
		p.copying.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(drain):
	}
	closeAll(p.readers...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = nil
	return p.streams[0].output(), p.streams[1].output()
}
