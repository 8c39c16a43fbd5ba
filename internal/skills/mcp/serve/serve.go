// Package serve offers a skill to any MCP client, over two streams or over HTTP on this
// machine.
//
// The client gets the same tools in the same order as an Expert, filtered by pick and omit, and
// the same results. It is trusted no more than a model: frames are limited and checked before the
// protocol library reads them, a bad one is answered and skipped, and too many calls are refused.
// The package opens nothing but a port on the loopback interface, and starts nothing.
//
// The protocol, and the HTTP handler, are those of the MCP SDK. The stream transport is our own:
// the SDK ends the session at the first line that is not a message, and stops running calls when
// the client closes its stream. TestUpstreamGivesUpCalls fails when it no longer does. Sessions
// over HTTP are ended here, because the SDK neither ends their calls nor waits for them.
//
// Start reading at [Run], or at [HTTP].
package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/skill"
)

// Options are the options of a server.
type Options struct {
	Name    string // of the server, as the client shows it
	Version string

	In  io.Reader // one JSON-RPC message a line
	Out io.Writer

	Filter skill.Filter
	// Redact removes secrets from texts for the client; nil leaves them as they are.
	Redact func(string) string
	Log    *slog.Logger

	session string // the id of the session, over HTTP
}

const (
	// lastAnswers is how long calls can continue after the client closed the stream.
	lastAnswers = 2 * time.Second
	// grace is how long a call has to stop when it is told to.
	grace = 5 * time.Second
)

// Run serves s until the client closes the stream, which is the usual end and no error,
// or ctx is done, whose cause is then returned. Calls that are still running are stopped
// either way, and s is closed.
func Run(ctx context.Context, s skill.Skill, opts Options) (err error) {
	calls, stop := context.WithCancel(ctx)
	defer stop()
	box, err := skill.NewToolbox(ctx, []skill.Source{{Skill: s, Filter: opts.Filter, Served: true}}, opts.Log)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := box.Close(); err == nil {
			err = closeErr
		}
	}()
	server := newServer(calls, box, opts)
	c := newConnection(opts.In, opts.Out, ctx.Done(), stop)
	var ended error
	done := make(chan struct{})
	go func() {
		ended = server.Run(context.WithoutCancel(ctx), c)
		close(done)
	}()
	select {
	case <-done:
	case <-c.over:
		select {
		case <-done:
		case <-time.After(2 * grace): // it hangs in a write to a client that does not read
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.isOver():
		// A client that closed one stream has often closed the other: a last answer without a
		// reader is not a failure.
		return c.reason
	case errors.Is(ended, io.ErrClosedPipe):
		return nil
	}
	return ended
}

// newServer returns the server of the protocol library for the tools of a box. Its
// requests end when calls is done.
func newServer(calls context.Context, box *skill.Toolbox, opts Options) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: opts.Name, Version: opts.Version}, &mcp.ServerOptions{
		Logger:       slog.New(debugHandler{opts.Log.Handler()}),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		GetSessionID: func() string { return opts.session },
	})
	if opts.Redact == nil {
		opts.Redact = func(text string) string { return text }
	}
	caller := &caller{box: box, redact: opts.Redact, log: opts.Log, slots: make(chan struct{}, parallel)}
	for _, t := range box.Tools() {
		server.AddTool(describe(t), caller.call)
	}
	server.AddReceivingMiddleware(onlyTools, until(calls), inOrder(box.Tools()))
	return server
}

// until cancels every request when stop is done. The library does so only when the client cancels.
func until(stop context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(stop, cancel)()
			return next(ctx, method, req)
		}
	}
}

// A debugHandler logs at the debug level: the protocol library logs every mistake of a client as
// an error.
type debugHandler struct{ slog.Handler }

func (d debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return d.Handler.Enabled(ctx, slog.LevelDebug)
}

func (d debugHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r)
}
