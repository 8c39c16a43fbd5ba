// Package server runs the proxy of package egress as a program: it serves listeners, prints
// each decision as one line of JSON, and ends when its input does. The command perstack
// egress and the proxy's container both use it.
//
// It decides nothing itself, and knows no flags. Start reading at [Server.Run], which takes
// its listeners from the input, or at [Server.Serve].
package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/secret"
)

// A Server is what the proxy works with.
type Server struct {
	Stdout  io.Writer
	Secrets *secret.Set // what is never printed; Serve adds the tokens of the listeners
	Squid   *Squid      // has Squid carry connections; nil for the builtin proxy
	// Ready, if not nil, is told the address of the first listener when all are open.
	Ready func(address string)
}

// A UsageError says that the listeners cannot be used as they were given. Nothing was
// started, unless it comes from the input while the proxy already serves.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// errInputEnded is the end of the input: the parent process has ended, or wants this.
var errInputEnded = errors.New("the input ended")

// Run serves the listeners that the first line of the input describes, until the input
// ends. It returns what [Server.Serve] returns.
func (s *Server) Run(ctx context.Context, input io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	config, err := ReadConfig(ctx, input, cancel)
	if err != nil {
		return err
	}
	return s.Serve(ctx, config)
}

// Serve serves until the context ends or a decision cannot be reported. It returns the
// cause, and nil if that is the end of the input.
func (s *Server) Serve(ctx context.Context, config egress.ProxyConfig) error {
	s.Secrets.AddIfRandom("upstream", config.Upstream)
	for _, l := range config.Listeners {
		s.Secrets.AddKey("token", l.Token)
	}
	if ctx.Err() != nil { // the input ended behind its first line
		return outcome(context.Cause(ctx))
	}
	if s.Squid != nil {
		return s.serveSquid(ctx, config)
	}
	proxy, err := egress.Listen(ctx, config, egress.ProxyOptions{Report: s.print})
	switch {
	case err != nil && ctx.Err() != nil:
		return outcome(context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("cannot listen: %w", err)
	}
	if s.Ready != nil {
		s.Ready(proxy.Listeners()[0].Address)
	}
	return outcome(proxy.Serve(ctx))
}

// print writes one line. All of it is written at once, so that lines stay whole.
func (s *Server) print(line egress.Line) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	// What a client says must not show a secret that it got hold of.
	if _, err := io.WriteString(s.Stdout, s.Secrets.Redact(string(data))+"\n"); err != nil {
		return fmt.Errorf("cannot report a decision: %w", err)
	}
	return nil
}

// outcome says how the proxy ended.
func outcome(err error) error {
	if errors.Is(err, errInputEnded) {
		return nil
	}
	return err
}
