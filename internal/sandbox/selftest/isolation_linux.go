package selftest

import (
	"context"
	"crypto/rand"
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
	if err := landlock.KeepsApart(); err != nil {
		return "", err
	}
	var abstract net.ListenConfig
	listener, err := abstract.Listen(ctx, "unix", "@perstack-selftest-"+rand.Text())
	if err != nil {
		return "", err
	}
	defer listener.Close()
	type attempt struct {
		what  string
		allow landlock.Policy // under which it works; the zero value if none allows it
		try   func() error
	}
	attempts := []attempt{
		{"read the workspace", landlock.Policy{Read: []string{spec.Work}}, func() error { return open(spec.Work) }},
		{"read about the first process", landlock.Policy{}, func() error { return open("/proc/1/status") }},
		{"speak to this process", landlock.Policy{}, func() error { return connectUnix(listener.Addr()) }},
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

// open opens a file or a directory for reading.
func open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// connectTo connects to a TCP server.
func connectTo(ctx context.Context, to netip.AddrPort) error {
	patience := answer
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(min(patience, time.Until(deadline)), time.Millisecond)
	}
	if to.Addr().Unmap().Is6() {
		return connectSocket(unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}, patience)
	}
	return connectSocket(unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().Unmap().As4()}, patience)
}

func connectUnix(to net.Addr) error {
	return connectSocket(unix.AF_UNIX, &unix.SockaddrUnix{Name: to.String()}, answer)
}

// connectSocket connects on this thread; package net may use another one.
func connectSocket(family int, to unix.Sockaddr, patience time.Duration) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	limit := unix.NsecToTimeval(patience.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
		return err
	}
	return unix.Connect(fd, to)
}
