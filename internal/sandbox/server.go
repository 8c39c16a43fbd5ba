package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Server is a program that runs until it is stopped, and is used through its streams.
// The last five fields of [Command] do not apply to it.
type Server Command

// A ServerProcess is a [Server] that was started. When it has ended, what it wrote can
// still be read; nothing needs to be closed.
type ServerProcess struct {
	Stdin  io.WriteCloser // writing to a server that has ended is an error
	Stdout io.ReadCloser
	Stderr io.ReadCloser

	child *child
	done  chan struct{}
	err   error // of ending what it left behind; set before done is closed
}

// Start starts a program that runs until it is stopped. The context is used until Start
// returns.
func (s *Supervisor) Start(ctx context.Context, server Server) (*ServerProcess, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: there is no supervisor here", errSupervisor)
	}
	c := Command(server)
	if err := c.validate(); err != nil {
		return nil, err
	}
	env, _ := c.environment()
	path, err := c.lookUp(env)
	if err != nil {
		return nil, err
	}
	if s.isOver() {
		return nil, fmt.Errorf("start %q: %w", c.Program, errClosed)
	}
	r := &ServerProcess{done: make(chan struct{})}
	if err := r.start(ctx, s, c, program{path: path, env: env}); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("start %q: %w", c.Program, context.Cause(ctx))
		}
		return nil, err
	}
	return r, nil
}

// start starts the program, or leaves nothing behind.
func (r *ServerProcess) start(ctx context.Context, s *Supervisor, c Command, p program) error {
	l, err := s.newLink(ctx, c)
	if err != nil {
		return err
	}
	ours, err := p.pipes()
	if err != nil {
		return errors.Join(startError(c.Program, err), s.endLink(l))
	}
	cancelled := context.AfterFunc(ctx, func() { l.release() })
	r.child, err = s.launch(l, c, p)
	if !cancelled() {
		err = context.Cause(ctx)
	}
	closeAll(p.stdin, p.stdout, p.stderr)
	if err != nil {
		closeAll(ours...)
		return errors.Join(err, s.endLink(l))
	}
	stdout, stderr := &serverStream{file: ours[1]}, &serverStream{file: ours[2]}
	r.Stdin, r.Stdout, r.Stderr = ours[0], stdout, stderr
	go func() {
		<-r.child.ended
		s.noteLimit(r.child.limit)
		r.err = s.endLink(l)
		r.Stdin.Close()
		var drained sync.WaitGroup
		drained.Go(stdout.drain)
		drained.Go(stderr.drain)
		drained.Wait()
		close(r.done)
	}()
	return nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// Done is closed when the program has ended, and all that it started with it.
func (r *ServerProcess) Done() <-chan struct{} { return r.done }

// Exit says, after Done, how it ended: "exit status 3", "killed by SIGKILL", "ended: more
// than 128 processes and threads", or that the outcome is unknown.
func (r *ServerProcess) Exit() string {
	select {
	case <-r.done:
	default:
		return "still running"
	}
	if r.child.err != nil {
		return r.child.err.Error()
	}
	if r.child.limit != "" {
		return "ended: " + r.child.limit
	}
	code, signal := r.child.status()
	if signal != "" {
		return "killed by " + signal
	}
	return fmt.Sprintf("exit status %d", code)
}

// Stop ends the program with all it started: its input is closed, then it is asked to
// end, then killed, with grace between. It returns when all processes have ended, and may
// be called more than once. An error means that some did not.
func (r *ServerProcess) Stop(grace time.Duration) error {
	go r.Stdin.Close() // on Windows it waits for a write in progress
	if !r.endsWithin(grace) {
		r.child.terminate()
		if !r.endsWithin(grace) {
			r.child.kill()
		}
	}
	<-r.done
	return r.err
}

func (r *ServerProcess) endsWithin(grace time.Duration) bool {
	select {
	case <-r.child.ended:
		return true
	case <-time.After(grace):
		return false
	}
}

// A serverStream is our end of a stream that a server writes to. When the server has
// ended, the pipe is drained and closed. The rest of its output can be read later.
type serverStream struct {
	file *os.File

	mu      sync.Mutex // one reader at a time
	drained bool
	rest    bytes.Reader // what was in the pipe at the end
}

// maxRest is the largest size that an unprivileged process can give a pipe.
const maxRest = 1 << 20

func (o *serverStream) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.drained {
		n, err := o.file.Read(p)
		if !os.IsTimeout(err) {
			return n, err
		}
		return n, io.EOF // the deadline of drain: another process still holds the pipe
	}
	return o.rest.Read(p)
}

// Close also ends a Read that waits.
func (o *serverStream) Close() error { return o.file.Close() }

// drain is called when all processes of the server have ended. On macOS a process that
// escaped may still hold the pipe, so it does not wait long.
func (o *serverStream) drain() {
	_ = o.file.SetReadDeadline(time.Now().Add(drain)) // fails on Windows, where no process escapes
	o.mu.Lock()                                       // after a Read that waits
	defer o.mu.Unlock()
	rest, _ := io.ReadAll(io.LimitReader(o.file, maxRest)) // closed, or what there was
	o.file.Close()
	o.rest.Reset(rest)
	o.drained = true
}
