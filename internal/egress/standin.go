package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// This file is for a program that opens the gates instead of [Proxy], such as Squid.

// ErrGone says that such a program ended before its gates were open.
var ErrGone = errors.New("it ended before its gates were open")

// Vacant makes sure that nobody listens where the gates will. A program may go on without
// a door that it cannot open, and clients would speak to whoever has it.
func (g Gates) Vacant(ctx context.Context) error {
	for _, gate := range g.Gates {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", gate.Address)
		if err != nil {
			return fmt.Errorf("gate %q: %w", gate.Name, err)
		}
		_ = l.Close()
	}
	return nil
}

// knockAgain is the pause between two looks at a gate that is not open yet.
const knockAgain = 20 * time.Millisecond

// Opened returns when somebody answers at all gates, or gone is closed. It asks for nothing
// there.
func (g Gates) Opened(ctx context.Context, gone <-chan struct{}) error {
	for _, gate := range g.Gates {
		for {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", gate.Address)
			if err == nil {
				_ = conn.Close()
				break
			}
			select {
			case <-time.After(knockAgain):
			case <-gone:
				return ErrGone
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}
