package egress

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
)

// onIsland runs the test that calls it once more, in a network of its own that leads
// nowhere, and returns true there. Public addresses are those of this machine there, and
// so are ports 53 and 443: what a proxy dials can be seen, and no name server but ours is
// asked. The test runs as a user that is not root, even if root runs it here.
func onIsland(t *testing.T) bool {
	t.Helper()
	const mark = "PERSTACK_TEST_ISLAND"
	if os.Getenv(mark) != "" {
		settle(t)
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), mark+"=1")
	const user = 1000
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE},
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		testkit.Missing(t, "a network namespace of one's own: "+err.Error())
	}
	err := cmd.Wait()
	t.Log("\n" + said.String())
	if err != nil || !strings.Contains(said.String(), "--- PASS: "+t.Name()) {
		t.Errorf("it failed there: %v", err)
	}
	return false
}

// The addresses of the island. Those that are not public show
// which connections get through.
const (
	webAddress     = "93.184.216.34"
	metadata       = "169.254.169.254"
	privateAddress = "10.1.2.3"
)

func settle(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	set := func(name string, request uint, fill func(*unix.Ifreq) error) {
		t.Helper()
		r, err := unix.NewIfreq(name)
		if err == nil {
			err = fill(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, request, r)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	up := func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }
	set("lo", unix.SIOCSIFFLAGS, up)
	for i, text := range []string{webAddress, metadata, privateAddress} {
		address := netip.MustParseAddr(text).As4()
		set("lo:"+string(rune('1'+i)), unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(address[:]) })
	}
}

// A shore is port 443 of all addresses of the island. It remembers where clients came
// ashore, and says nothing.
type shore struct {
	landed chan landing
}

// A landing is a connection: where it came ashore, and from where.
type landing struct{ at, from string }

func newShore(t *testing.T) *shore {
	t.Helper()
	l, err := net.Listen("tcp", "[::]:443") // IPv4 too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &shore{landed: make(chan landing, 1<<16)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			at, _ := netip.ParseAddrPort(conn.LocalAddr().String())
			from, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
			s.landed <- landing{at.Addr().Unmap().String(), plain(from)}
			go func() { // until the client has said all
				buf := make([]byte, 4096)
				for {
					if _, err := conn.Read(buf); err != nil {
						_ = conn.Close()
						return
					}
				}
			}()
		}
	}()
	return s
}

// seen returns where clients came ashore since the last call. A client is connected before
// the listener has noticed it; so a client of our own comes last, and is waited for.
func (s *shore) seen(t *testing.T) (out []string) {
	t.Helper()
	last, err := net.Dial("tcp", "127.0.0.1:443")
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	own, _ := netip.ParseAddrPort(last.LocalAddr().String())
	for l := range s.landed {
		if l.from == plain(own) {
			break
		}
		out = append(out, l.at)
	}
	return out
}

// plain is an address without the form that IPv4 has in IPv6.
func plain(a netip.AddrPort) string { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String() }

// A told is one answer of the name server of the island.
type told struct {
	four, six []string
	late4     time.Duration // before the answer for IPv4 comes
	late6     time.Duration
}

// A liar is that name server. The last answer for a name is given again and again.
type liar struct {
	mu    sync.Mutex
	names map[string][]told
	turn  map[string]int // answers that were given, for name and kind
	asked []string
	more  *sync.Cond // told of every question
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l := &liar{names: map[string][]told{}, turn: map[string]int{}}
	l.more = sync.NewCond(&l.mu)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			reply, late := l.reply(slices.Clone(buf[:n]))
			time.AfterFunc(late, func() { _, _ = conn.WriteTo(reply, from) })
		}
	}()
	return l
}

// await waits until a name was asked for so often, by kind.
func (l *liar) await(name string, often int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.turn[name] < often {
		l.more.Wait()
	}
}

// tell sets what is said of a name.
func (l *liar) tell(name string, answers ...told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names[name] = answers
	clear(l.turn)
}

// questions returns the names that were asked for since the last call.
func (l *liar) questions() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.asked
	l.asked = nil
	slices.Sort(out)
	return slices.Compact(out)
}

// reply answers a message with one question, with the answer whose turn it is.
func (l *liar) reply(m []byte) ([]byte, time.Duration) {
	const a, aaaa = 1, 28
	var labels []string
	at := 12
	for ; m[at] != 0; at += 1 + int(m[at]) {
		labels = append(labels, strings.ToLower(string(m[at+1:at+1+int(m[at])])))
	}
	name, kind := strings.Join(labels, "."), binary.BigEndian.Uint16(m[at+1:])
	m = m[:at+5]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, name)
	m[2], m[3] = 0x81, 0x80
	binary.BigEndian.PutUint32(m[8:], 0)
	answers := l.names[name]
	if len(answers) == 0 {
		m[3] = 0x83 // no such name
		return m, 0
	}
	key := fmt.Sprint(name, int(kind)) // resolvers ask for both kinds at once
	this, addresses, late := answers[min(l.turn[key], len(answers)-1)], []string(nil), time.Duration(0)
	l.turn[key]++
	l.more.Broadcast()
	switch kind {
	case a:
		addresses, late = this.four, this.late4
	case aaaa:
		addresses, late = this.six, this.late6
	}
	for _, text := range addresses {
		data := netip.MustParseAddr(text).AsSlice()
		m = append(m, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
		m = append(m, data...)
	}
	binary.BigEndian.PutUint16(m[6:], uint16(len(addresses)))
	return m, late
}
