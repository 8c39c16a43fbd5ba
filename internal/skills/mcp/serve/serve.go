// Package serve offers a skill to any MCP client, over two streams or over HTTP on this
// machine.
//
// The client gets what an Expert would get: the same tools in the same order, narrowed
// by pick and omit, and the same results, part by part. It is trusted no more than a
// model is: frames are bounded and checked before the protocol library sees them, a bad
// one is answered and skipped, and calls that nobody could wait for are refused. The
// package opens nothing but a port on the loopback, and starts nothing; what a call does
// is up to the skill.
//
// The protocol is that of the MCP SDK, over HTTP its handler too. The stream transport is
// ours: the SDK ends the session at the first line that is no message, and gives up running
// calls when the client closes its stream. TestUpstreamGivesUpCalls fails when it no longer
// does. Sessions over HTTP are ended by us, because the SDK neither ends their calls nor
// waits for them.
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

// Options say under which name a skill is served, where, and how much of it.
type Options struct {
	Name    string // of the server, as the client shows it
	Version string

	In  io.Reader // one JSON-RPC message a line
	Out io.Writer // nothing else is written to it

	Filter skill.Filter
	// Redact takes secrets out of what the client gets to see; nil leaves it as it is.
	Redact func(string) string
	Log    *slog.Logger

	session string // the id that the session gets, where there are several
}

const (
	// patience is how long a client that closed the stream waits for its last answers.
	patience = 2 * time.Second
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
		lastly(done)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.isOver():
		// Who closed one stream may have closed the other: a last answer that found no
		// reader is no failure.
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
		Logger:       slog.New(demoted{opts.Log.Handler()}),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		GetSessionID: func() string { return opts.session },
	})
	if opts.Redact == nil {
		opts.Redact = func(text string) string { return text }
	}
	desk := &desk{box: box, redact: opts.Redact, log: opts.Log, room: make(chan struct{}, parallel)}
	for _, t := range box.Tools() {
		server.AddTool(describe(t), desk.call)
	}
	server.AddReceivingMiddleware(onlyTools, until(calls), inOrder(box.Tools()))
	return server
}

// until makes every request end when stop is done. The library cancels a request when
// the client does, and not otherwise.
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

// lastly waits for the end of a server that is ending. One that hangs in a write to a
// client which reads no more is left to itself.
func lastly(done <-chan struct{}) {
	timer := time.NewTimer(2 * grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// demoted passes on what the protocol library logs as details: to it, every mistake of a
// client is an error.
type demoted struct{ slog.Handler }

func (d demoted) Enabled(ctx context.Context, _ slog.Level) bool {
	return d.Handler.Enabled(ctx, slog.LevelDebug)
}

func (d demoted) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r)
}
