package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/network"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
)

// Start returns the container when it is started and attached to.
func (s *Site) Start(ctx context.Context) (*Container, error) {
	var err error
	select {
	case err = <-s.launched:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start the container: %w", err)
	}
	c := s.container
	ended, exited := c.Exited, make(chan Exit, 1)
	s.working.Go(func() {
		end := <-ended
		switch {
		case end.Err != nil:
			s.status(roleRuntime, "error", "it is not known how it ended")
		case end.OutOfMemory:
			s.status(roleRuntime, "error", "out of memory")
		case end.Code != 0:
			s.status(roleRuntime, "error", fmt.Sprintf("exit code %d", end.Code))
		default:
			s.status(roleRuntime, "stopped", "")
		}
		exited <- end
	})
	c.Exited = exited
	return c, nil
}

// Stop ends the container at once.
func (s *Site) Stop(ctx context.Context) error {
	err := s.daemon.api.Kill(ctx, s.name(string(roleRuntime)))
	if api.IsNotFound(err) || api.IsConflict(err) { // not there, or not running
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop the container: %w", err)
	}
	return nil
}

// launch creates a container, attaches to it and starts it. It is attached before it
// runs, so that nothing of what it says is lost: the daemon keeps no log.
func (s *Site) launch(ctx context.Context, r role) (*Container, error) {
	s.status(r, "starting", "")
	daemon := s.daemon.api
	var id string
	err := s.make(ctx, func(ctx context.Context) (err error) {
		id, err = daemon.Create(ctx, s.name(string(r)), s.containerOptions(r))
		return err
	})
	if err != nil {
		return nil, err
	}
	if r == roleProxy { // older daemons take one network at creation
		err := s.make(ctx, func(ctx context.Context) error {
			return daemon.ConnectNetwork(ctx, s.outer.id, network.ConnectRequest{
				Container:      id,
				EndpointConfig: &network.EndpointSettings{GwPriority: 1}, // the way out, where the daemon asks
			})
		})
		if err != nil {
			return nil, err
		}
	}
	// The connection outlives ctx, and ends with the site.
	attached, err := daemon.Attach(ctx, id)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(s.ctx, func() { attached.Close() })
	ended, err := s.wait(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.make(ctx, func(ctx context.Context) error { return daemon.Start(ctx, id) }); err != nil {
		return nil, err
	}
	s.status(r, "running", "")

	stdout, toStdout := io.Pipe()
	stderr, toStderr := io.Pipe()
	s.working.Go(func() {
		_, err := stdcopy.StdCopy(toStdout, toStderr, attached)
		if s.ctx.Err() != nil {
			err = nil // we ended it: an end like any other
		}
		toStdout.CloseWithError(err)
		toStderr.CloseWithError(err)
		attached.Close()
	})
	// Output that is not read any more must not block the copy.
	context.AfterFunc(s.ctx, func() {
		toStdout.Close()
		toStderr.Close()
	})
	exited := make(chan Exit, 1)
	s.working.Go(func() { exited <- s.ending(id, ended) })
	return &Container{id: id, Stdin: input{attached}, Stdout: stdout, Stderr: stderr, Exited: exited}, nil
}

// wait asks the daemon to tell when a container ends. The answer outlives ctx; that the
// daemon has understood does not.
func (s *Site) wait(ctx context.Context, id string) (ended func() error, err error) {
	until, cancel := context.WithCancel(s.ctx)
	defer context.AfterFunc(ctx, cancel)()
	return s.daemon.api.Wait(until, id)
}

// errClosed says that the site was closed while its container ran.
var errClosed = errors.New("the container was removed")

// ending waits for the end of a container and asks how it ended.
func (s *Site) ending(id string, ended func() error) Exit {
	if err := ended(); err != nil {
		if s.ctx.Err() != nil {
			err = errClosed
		}
		return Exit{Code: -1, Err: err}
	}
	found, err := s.daemon.api.Inspect(s.ctx, id)
	if err != nil {
		return Exit{Code: -1, Err: err}
	}
	state := found.State
	if state == nil {
		return Exit{Code: -1, Err: errors.New("the daemon does not say how the container ended")}
	}
	// The daemon also sets the mark when a child ran out of memory, which ends only the child.
	const killed = 128 + 9
	return Exit{Code: state.ExitCode, OutOfMemory: state.OOMKilled && state.ExitCode == killed}
}

// An input is the standard input of a container. Closing it leaves the output open.
type input struct{ *api.Stream }

func (i input) Close() error { return i.CloseWrite() }
