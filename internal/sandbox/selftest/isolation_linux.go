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

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
)

// isolation checks that a policy confines. It does not rely on what the kernel says but
// tries: what a thread of ours reaches when its policy allows it, it must not reach when
// its policy does not.
func isolation(ctx context.Context, spec Spec) (string, error) {
	if spec.SharedSandbox {
		return "not wanted: all skills share one", nil
	}
	if err := landlock.Available(); err != nil {
		return "", err
	}
	voice, err := listenAbstract()
	if err != nil {
		return "", err
	}
	defer unix.Close(voice.fd)
	type attempt struct {
		what  string
		allow landlock.Policy // under which it works; the zero value if none allows it
		try   func() error
	}
	attempts := []attempt{
		{"read the workspace", landlock.Policy{Read: []string{spec.Work}}, func() error { return readDir(spec.Work) }},
		{"read about the first process", landlock.Policy{}, func() error { return readFile("/proc/1/status") }},
		{"speak to this process", landlock.Policy{}, voice.connect},
	}
	if spec.Proxy != nil {
		proxy, err := netip.ParseAddrPort(spec.Proxy.Host)
		if err != nil {
			return "", errors.New("the proxy has no address")
		}
		attempts = append(attempts, attempt{"connect to the proxy", landlock.Policy{Ports: []uint16{proxy.Port()}}, func() error { return connectTo(ctx, proxy) }})
	}
	for _, a := range attempts {
		switch err := within(landlock.Policy{}, a.try); {
		case err == nil:
			return "", fmt.Errorf("a confined thread can %s", a.what)
		case !isForbidden(err):
			return "", fmt.Errorf("a confined thread cannot %s for another reason: %w", a.what, err)
		}
		if len(a.allow.Read)+len(a.allow.Ports) == 0 {
			continue
		}
		// It must work when the policy allows it, or something else than the policy denied it.
		// Whether a server answers is for other checks.
		if err := within(a.allow, a.try); isForbidden(err) || errors.Is(err, errNoPolicy) {
			return "", fmt.Errorf("a thread that may %s cannot: %w", a.what, err)
		}
	}
	return fmt.Sprintf("a confined thread was denied %d things", len(attempts)), nil
}

// within tries something under a policy.
func within(c landlock.Policy, try func() error) (err error) {
	if failed := c.Do(func() { err = try() }); failed != nil {
		return fmt.Errorf("%w: %w", errNoPolicy, failed)
	}
	return err
}

var errNoPolicy = errors.New("the sandbox policy cannot be applied")

func isForbidden(err error) bool {
	return !errors.Is(err, errNoPolicy) && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM))
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

// connectTo connects on this thread; package net may use another one.
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

// A listener is an abstract Unix socket of this process.
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
