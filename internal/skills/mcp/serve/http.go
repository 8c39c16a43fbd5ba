package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/perstack-go/perstack/skill"
)

// HTTPOptions are the options of [HTTP]. In and Out are not used.
type HTTPOptions struct {
	Options

	Port  uint16 // on 127.0.0.1; 0 for one that is free
	Token string // that every request must carry

	// Ready is told the address before the first request is read.
	Ready func(url string)
}

// A ListenError says that the port cannot be used.
type ListenError struct{ err error }

func (e *ListenError) Error() string { return "listen: " + e.err.Error() }
func (e *ListenError) Unwrap() error { return e.err }

// endpoint is the only path that is served.
const endpoint = "/mcp"

const (
	headerTime  = 10 * time.Second // for the head of a request to arrive
	bodyTime    = 60 * time.Second // for its body
	quietTime   = 2 * time.Minute  // for which a connection without a request is kept
	headerBytes = 32 << 10
)

// HTTP serves a skill until ctx is done, whose cause is then returned. Each session of a
// client has a skill of its own, from open, which is closed with it.
//
// It listens only on the loopback interface: a client with the token can do what the tools can.
func HTTP(ctx context.Context, open func() skill.Skill, opts HTTPOptions) error {
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), opts.Port)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", address.String())
	if err != nil {
		return &ListenError{err}
	}
	port := listener.Addr().(*net.TCPAddr).Port
	sessions := newSessions(ctx, open, opts.Options)
	server := &http.Server{
		Handler:           newGuard(port, opts.Token, sessions),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       quietTime,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          slog.NewLogLogger(debugHandler{opts.Log.Handler()}, slog.LevelDebug),
		// A request outlives ctx for as long as it takes to answer it.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	opts.Ready(fmt.Sprintf("http://127.0.0.1:%d%s", port, endpoint))

	ended := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() { ended <- server.Serve(listener) })
	defer serving.Wait()
	select {
	case err := <-ended:
		sessions.endAll()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	sessions.endAll() // calls are answered as stopped, streams end
	if err := server.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close() // a client does not read its answer
	}
	return context.Cause(ctx)
}
