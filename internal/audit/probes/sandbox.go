package probes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// A sandboxed program is the hostile program with what its sandbox lets it reach.
type sandboxed struct {
	level   expert.SandboxLevel
	runtime string // as the report names it
	ws      string
	policy  policy.Policy
}

// noSandbox is the result of a probe on a machine without one.
func noSandbox(why string) audit.Result {
	return audit.Skip("this machine offers no sandbox: %s", why)
}

// sandboxed prepares the best sandbox of the machine, for the probe of a promise: level is empty
// if there is none. Its home directory is empty, and its workspace is ws.
func (m *Machine) sandboxed(ctx context.Context, promise, ws string) (s sandboxed, why string, err error) {
	s.level, why = m.Parts.Level(ctx)
	if s.ws, err = filepath.EvalSymlinks(ws); err != nil {
		return s, why, err
	}
	program, err := filepath.EvalSymlinks(m.Program)
	if err != nil {
		return s, why, err
	}
	switch s.level {
	case expert.SandboxFull:
		s.runtime = audit.Full
		s.policy = policy.Policy{Level: s.level, Name: promise, Workspace: policy.Workspace{Path: s.ws}, Read: []string{program}}
		home, err := m.dir("home")
		if err != nil {
			return s, why, err
		}
		s.policy.Home, err = filepath.EvalSymlinks(home)
		return s, why, err
	case expert.SandboxLandlock:
		s.runtime = audit.Landlock
		s.policy = policy.Policy{
			Level: s.level, Name: promise, Read: append(landlock.SystemPaths(), program), Write: append(landlock.WritableDevices(), s.ws),
		}
	default:
		s.level = ""
	}
	return s, why, nil
}

// full reports whether programs have namespaces of their own.
func (s sandboxed) full() bool { return s.level == expert.SandboxFull }

// command is the hostile program in the sandbox.
func (m *Machine) inside(s sandboxed, attacks ...string) sandbox.Command {
	c := m.command(s.ws, attacks...)
	c.Policy = m.Parts.Confine(s.policy)
	return c
}

// Servers on this machine that a sandboxed program must not reach. They answer with what they get.
type hostServers struct {
	addresses map[string]string // by the attack that reaches them, with a number
	close     []io.Closer
}

// serve starts the servers for some attacks: "connect", "udp", "dns" and "unix". An address that
// the machine does not have is left out.
func (m *Machine) serve(ctx context.Context, attacks ...string) (*hostServers, error) {
	h := &hostServers{addresses: map[string]string{}}
	dir, err := m.dir("socket")
	if err != nil {
		return nil, err
	}
	for _, attack := range attacks {
		for i, address := range ownAddresses() {
			err := h.listen(ctx, attack, fmt.Sprint(i), net.JoinHostPort(address, "0"))
			// A name server needs one number for ports of both kinds, and one of them can be taken.
			for tries := 0; tries < 5 && errors.Is(err, syscall.EADDRINUSE); tries++ {
				err = h.listen(ctx, attack, fmt.Sprint(i), net.JoinHostPort(address, "0"))
			}
			if err != nil && i == 0 {
				h.end()
				return nil, err
			}
		}
		if attack != hostile.Socket {
			continue
		}
		for i, name := range []string{"@" + rand.Text(), filepath.Join(dir, "s")} {
			if err := h.listen(ctx, attack, fmt.Sprint(i), name); err != nil {
				h.end()
				return nil, err
			}
		}
	}
	return h, nil
}

// ownAddresses are those of the loopback interface, and one of another interface.
func ownAddresses() []string {
	all := []string{"127.0.0.1", "::1"}
	others, _ := net.InterfaceAddrs() // without, there is nothing more to try
	for _, a := range others {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			return append(all, ip.IP.String())
		}
	}
	return all
}

func (h *hostServers) listen(ctx context.Context, attack, number, address string) error {
	var config net.ListenConfig
	isSocket := !strings.Contains(address, ":")
	if (attack == hostile.Socket) != isSocket {
		return nil
	}
	if attack == hostile.Datagram || attack == hostile.Query {
		conn, err := config.ListenPacket(ctx, "udp", address)
		if err != nil {
			return err
		}
		go echoPackets(conn)
		h.add(attack, number, conn.LocalAddr(), conn)
		if attack == hostile.Datagram {
			return nil
		}
		address = conn.LocalAddr().String() // a name server has both
	}
	network := "tcp"
	if isSocket {
		network = "unix"
	}
	l, err := config.Listen(ctx, network, address)
	if err != nil {
		return err
	}
	go echoStreams(l)
	h.add(attack, number, l.Addr(), l)
	return nil
}

func (h *hostServers) add(attack, number string, at net.Addr, c io.Closer) {
	h.addresses[attack+number] = attack + "=" + at.String()
	h.close = append(h.close, c)
}

// attacks returns those that reach the servers.
func (h *hostServers) attacks() (all []string) {
	for _, attack := range h.addresses {
		all = append(all, attack)
	}
	slices.Sort(all)
	return all
}

func (h *hostServers) end() {
	for _, c := range h.close {
		_ = c.Close() // it served an attack, and is not needed any more
	}
}

func echoPackets(conn net.PacketConn) {
	data := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(data)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(data[:n], from) // an answer that gets lost is an attack that failed
	}
}

// closeStreams closes all connections: that they were made is enough.
func closeStreams(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = conn.Close()
	}
}

func echoStreams(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = io.Copy(conn, io.LimitReader(conn, 512))
		}()
	}
}
