package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox/cell"
)

// A Server is a program that runs until it is stopped, and is spoken to by its streams.
type Server struct {
	Program string   // as in [Command]
	Args    []string // without the program's name
	Dir     string
	OpenDir *os.File

	Environ []string          // of the runtime; the safe variables are taken from it
	Env     map[string]string // added, apart from protected names: what somebody else asked for
	Set     map[string]string // added as it is: what this program itself decided

	Cell *cell.Cell // what it can reach, as in [Command]
}

// command is what a server has in common with what is run to its end.
func (s Server) command() Command {
	return Command{
		Program: s.Program, Args: s.Args, Dir: s.Dir, OpenDir: s.OpenDir,
		Environ: s.Environ, Env: s.Env, Set: s.Set, Cell: s.Cell,
	}
}

// A Running is a [Server] that was started. When it has ended, what it wrote can still be
// read; nothing needs to be closed.
type Running struct {
	Stdin  io.WriteCloser // writing to a server that is gone is an error
	Stdout io.ReadCloser
	Stderr io.ReadCloser

	DroppedEnv []string // names of Env that were not passed on, sorted

	child *child
	done  chan struct{}
	err   error // of ending what it left behind; set before done is closed
}

// Start starts a program that runs until it is stopped. The context counts until Start
// returns.
func (s *Supervisor) Start(ctx context.Context, server Server) (*Running, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: there is no supervisor here", errSupervisor)
	}
	c := server.command()
	if err := c.validate(); err != nil {
		return nil, err
	}
	env, dropped := c.environment()
	path, err := lookPath(c.Program, env)
	if err != nil {
		return nil, err
	}
	if s.isOver() {
		return nil, fmt.Errorf("start %q: %w", c.Program, errClosed)
	}
	r := &Running{DroppedEnv: dropped, done: make(chan struct{})}
	if err := r.start(ctx, s, c, program{path: path, env: env}); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("start %q: %w", c.Program, context.Cause(ctx))
		}
		return nil, err
	}
	return r, nil
}

// start brings the program into being, or leaves nothing behind.
func (r *Running) start(ctx context.Context, s *Supervisor, c Command, p program) error {
	l, err := s.connectServer(ctx)
	if err != nil {
		return err
	}
	ours, err := p.pipes()
	if err != nil {
		return errors.Join(startError(c.Program, err), s.disconnectServer(l))
	}
	cancelled := context.AfterFunc(ctx, func() { l.letGo() })
	r.child, err = s.launch(l, c, p)
	if !cancelled() {
		err = context.Cause(ctx)
	}
	closeAll(p.stdin, p.stdout, p.stderr)
	if err != nil {
		closeAll(ours...)
		return errors.Join(err, s.disconnectServer(l))
	}
	stdout, stderr := &outlet{file: ours[1]}, &outlet{file: ours[2]}
	r.Stdin, r.Stdout, r.Stderr = ours[0], stdout, stderr
	go func() {
		<-r.child.ended
		r.err = s.disconnectServer(l)
		r.Stdin.Close()
		var drained sync.WaitGroup
		drained.Go(stdout.drain)
		drained.Go(stderr.drain)
		drained.Wait()
		close(r.done)
	}()
	return nil
}

// pipes gives the program its streams, and returns our ends of them in that order.
func (p *program) pipes() (ours []*os.File, err error) {
	var theirs []*os.File
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours...)
			closeAll(theirs...)
			return nil, err
		}
		if i == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	p.stdin, p.stdout, p.stderr = theirs[0], theirs[1], theirs[2]
	return ours, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// Done is closed when the program has ended, and all that it started with it.
func (r *Running) Done() <-chan struct{} { return r.done }

// Exit says, after Done, how it ended: "exit status 3", "killed by SIGKILL", "ended: more
// than 128 processes and threads", or that nobody knows.
func (r *Running) Exit() string {
	select {
	case <-r.done:
	default:
		return "still running"
	}
	if err := r.child.lost(); err != nil {
		return err.Error()
	}
	if limit := r.child.exceeded(); limit != "" {
		return "ended: " + limit
	}
	code, signal := r.child.status()
	if signal != "" {
		return "killed by " + signal
	}
	return fmt.Sprintf("exit status %d", code)
}

// Stop ends the program with all it started: its input is closed, then it is asked to
// end, then killed, with grace between; 0 means 2 seconds. It returns when all is gone,
// and may be called more than once. The error says that something would not go.
func (r *Running) Stop(grace time.Duration) error {
	if grace <= 0 {
		grace = defaultGrace
	}
	go r.Stdin.Close() // somebody may be writing; Windows waits for that
	if !r.endsWithin(grace) {
		r.child.terminate()
		if !r.endsWithin(grace) {
			r.child.kill()
		}
	}
	<-r.done
	return r.err
}

func (r *Running) endsWithin(grace time.Duration) bool {
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-r.child.ended:
		return true
	case <-patience.C:
		return false
	}
}
