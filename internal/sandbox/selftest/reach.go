package selftest

import (
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
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t target) silent(ctx context.Context, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	conn, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, t.network, t.at.String())
	if err == nil {
		defer conn.Close()
		if t.network == "udp" {
			err = t.ask(conn, deadline)
		}
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
func (t target) ask(conn net.Conn, deadline time.Time) error {
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write(question(outsideName(), 1)); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 512))
	return err
}

// isSilence reports whether an error means that the target cannot be reached. Unknown
// errors count as an answer.
func isSilence(err error) bool {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	for _, errno := range []syscall.Errno{
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, // no route
		syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, // no such network here
		syscall.EACCES, syscall.EPERM, // forbidden here, by a filter
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// reason is the innermost error, without the addresses, which the message has already.
func reason(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
