package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// A target is something that must not answer.
type target struct {
	network string // tcp or udp
	at      netip.AddrPort
}

// allSilent reports the first of the targets that answers. A refused connection is an
// answer too.
func allSilent(ctx context.Context, targets []target, patience time.Duration) error {
	return sideBySide(targets, func(t target) error { return t.silent(ctx, patience) })
}

// sideBySide calls look with all targets at the same time, and returns the first error in
// their order.
func sideBySide(targets []target, look func(target) error) error {
	errs := make([]error, len(targets))
	var group sync.WaitGroup
	for i, t := range targets {
		group.Go(func() { errs[i] = look(t) })
	}
	group.Wait()
	return cmp.Or(errs...)
}

// dial connects to the target. The patience is for all that is done with the connection.
func (t target) dial(ctx context.Context, patience time.Duration) (net.Conn, error) {
	deadline := time.Now().Add(patience)
	conn, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, t.network, t.at.String())
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(deadline)
}

func (t target) silent(ctx context.Context, patience time.Duration) error {
	conn, err := t.dial(ctx, patience)
	if conn != nil {
		defer conn.Close()
	}
	if err == nil && t.network == "udp" {
		err = ask(conn)
	}
	switch {
	case err == nil:
		return fmt.Errorf("%s answers at %s port %d", t.at.Addr(), t.network, t.at.Port())
	case isSilence(err):
		return nil
	}
	return fmt.Errorf("%s answers at %s port %d: %w", t.at.Addr(), t.network, t.at.Port(), reason(err))
}

// ask sends a query that every name server answers.
func ask(conn net.Conn) error {
	if _, err := conn.Write(question(outsideName())); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 512))
	return err
}

// isSilence reports whether an error means that the target cannot be reached. Unknown
// errors count as an answer.
func isSilence(err error) bool {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return true
	}
	switch errno, _ := errors.AsType[syscall.Errno](err); errno {
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, // no route
		syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, // no such network here
		syscall.EACCES, syscall.EPERM: // forbidden here, by a filter
		return true
	}
	return false
}

// reason is the innermost error, without the addresses, which the message has already.
func reason(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}
