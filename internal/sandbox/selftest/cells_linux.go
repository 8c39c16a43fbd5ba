package selftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/cell"
)

// cells checks that what is locked in cannot get at what belongs to others. It does not ask
// whether the kernel can do it but tries: what a thread of ours reaches when its cell allows
// it, the same thread must not reach when its cell does not.
func cells(ctx context.Context, spec Spec) (string, error) {
	if spec.SharedCell {
		return "not wanted: all skills share one", nil
	}
	found, err := keepApart(ctx, spec)
	if err != nil {
		return "", fmt.Errorf("%w; use a newer kernel, or accept one cell for all skills with --shared-cell", err)
	}
	return found, nil
}

func keepApart(ctx context.Context, spec Spec) (string, error) {
	if err := cell.Available(); err != nil {
		return "", err
	}
	voice, err := listenAbstract()
	if err != nil {
		return "", err
	}
	defer unix.Close(voice.fd)
	type attempt struct {
		what  string
		allow cell.Cell // in which it works; the zero value if it works in none
		try   func() error
	}
	attempts := []attempt{
		{"read the workspace", cell.Cell{Read: []string{spec.Work}}, func() error { return readDir(spec.Work) }},
		{"read about the first process", cell.Cell{}, func() error { return readFile("/proc/1/status") }},
		{"speak to this process", cell.Cell{}, voice.connect},
	}
	if spec.Proxy != nil {
		gate, err := netip.ParseAddrPort(spec.Proxy.Host)
		if err != nil {
			return "", errors.New("the proxy has no address")
		}
		attempts = append(attempts, attempt{"connect to a gate", cell.Cell{Ports: []uint16{gate.Port()}}, func() error { return connectTo(ctx, gate) }})
	}
	for _, a := range attempts {
		switch err := within(cell.Cell{}, a.try); {
		case err == nil:
			return "", fmt.Errorf("a thread that is locked in can %s", a.what)
		case !isForbidden(err):
			return "", fmt.Errorf("a thread that is locked in cannot %s for another reason: %w", a.what, err)
		}
		if len(a.allow.Read)+len(a.allow.Ports) == 0 {
			continue
		}
		// Else it would be something else than the cell that says no. Whether anybody
		// answers is for other checks.
		if err := within(a.allow, a.try); isForbidden(err) || errors.Is(err, errNoCell) {
			return "", fmt.Errorf("a thread that may %s cannot: %w", a.what, err)
		}
	}
	return fmt.Sprintf("%d things are out of reach of a thread that is locked in", len(attempts)), nil
}

// within tries something in a cell.
func within(c cell.Cell, try func() error) (err error) {
	if failed := c.Do(func() { err = try() }); failed != nil {
		return fmt.Errorf("%w: %w", errNoCell, failed)
	}
	return err
}

var errNoCell = errors.New("the cell cannot be made")

func isForbidden(err error) bool {
	return !errors.Is(err, errNoCell) && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM))
}

func readDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return d.Close()
}

func readFile(path string) error {
	_, err := os.ReadFile(path)
	return err
}

// connectTo connects on this very thread: what package net does may be done by others.
func connectTo(ctx context.Context, to netip.AddrPort) error {
	family, address := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().Unmap().As4()})
	if to.Addr().Unmap().Is6() {
		family, address = unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	patience := answer
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(min(patience, time.Until(deadline)), time.Millisecond)
	}
	limit := unix.NsecToTimeval(patience.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
		return err
	}
	return unix.Connect(fd, address)
}

// A listener is a socket of ours with a name that is no file.
type listener struct {
	fd   int
	name string
}

func listenAbstract() (listener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return listener{}, err
	}
	fail := func(err error) (listener, error) { return listener{}, errors.Join(err, unix.Close(fd)) }
	if err := unix.Bind(fd, &unix.SockaddrUnix{}); err != nil { // the kernel chooses a name
		return fail(err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		return fail(err)
	}
	own, err := unix.Getsockname(fd)
	if err != nil {
		return fail(err)
	}
	address, ok := own.(*unix.SockaddrUnix)
	if !ok {
		return fail(net.UnknownNetworkError("unix"))
	}
	return listener{fd, address.Name}, nil
}

func (l listener) connect() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: l.name})
}
