//go:build linux

package docker

import (
	"net"
	"net/netip"
	"sync"
	"testing"
)

// A machine is the host as a container could see it: it listens at all its
// addresses, TCP and UDP, and reports connections.
type machine struct {
	addresses []string
	port      int
	mu        sync.Mutex
	came      []string
}

func listenAsHost(t *testing.T) *machine {
	t.Helper()
	m := &machine{}
	var config net.ListenConfig
	tcp, err := config.Listen(t.Context(), "tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	m.port = tcp.Addr().(*net.TCPAddr).Port
	udp, err := config.ListenPacket(t.Context(), "udp4", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close(); udp.Close() })
	go func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			m.note("tcp " + conn.RemoteAddr().String())
			conn.Close()
		}
	}()
	go func() {
		buf := make([]byte, 1024)
		for {
			_, from, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			m.note("udp " + from.String())
			_, _ = udp.WriteTo([]byte("hello from the host"), from)
		}
	}()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr().Is4() && !prefix.Addr().IsLoopback() {
			m.addresses = append(m.addresses, prefix.Addr().String())
		}
	}
	if len(m.addresses) == 0 {
		t.Fatal("this machine has no address")
	}
	return m
}

func (m *machine) note(who string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.came = append(m.came, who)
}

// visitors are the connections.
func (m *machine) visitors() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.came...)
}
