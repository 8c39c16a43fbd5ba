//go:build unix

package selftest

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is long: what answers does so at once, and a test on a busy machine waits for
// it. What is silent is given less.
const patience = 30 * time.Second

func TestWhoAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := netip.MustParseAddrPort(l.Addr().String())
	if err := (target{"tcp", open}).silent(t.Context(), patience); err == nil || !strings.Contains(err.Error(), "127.0.0.1 answers at tcp port") {
		t.Errorf("a server listens: %v", err)
	}
	l.Close()
	if err := allSilent(t.Context(), []target{{"tcp", open}}, patience); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a host refuses: %v", err)
	}
	if err := allSilent(t.Context(), []target{{"udp", open}}, patience); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a host refuses a datagram: %v", err)
	}

	deaf, err := net.ListenPacket("udp", "127.0.0.1:0") // it does not answer
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if err := allSilent(t.Context(), []target{{"udp", netip.MustParseAddrPort(deaf.LocalAddr().String())}}, time.Millisecond); err != nil {
		t.Errorf("no answer: %v", err)
	}
}

func TestSilence(t *testing.T) {
	for _, err := range []error{os.ErrDeadlineExceeded, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, syscall.EACCES, syscall.EPERM} {
		if !isSilence(&net.OpError{Op: "dial", Err: err}) {
			t.Errorf("%v is silence", err)
		}
	}
	for _, err := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, io.EOF, errors.New("something new")} {
		if isSilence(&net.OpError{Op: "dial", Err: err}) {
			t.Errorf("%v is an answer", err)
		}
	}
}

// A name server that knows, or knows that there is no such name, has asked another one.
func TestNameServerAnswers(t *testing.T) {
	for _, c := range []struct {
		name string
		code byte
		ok   bool
	}{
		{"an address", 0, false}, {"a malformed question", 1, false}, {"a failure", 2, true}, {"no such name", 3, false}, {"a refusal", 5, true},
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(c.name+" by "+network, func(t *testing.T) {
				server := nameServer(t, network, c.code)
				if err := (target{network, server}).resolves(t.Context(), patience); (err == nil) != c.ok {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// nameServer answers one question with a code.
func nameServer(t *testing.T, network string, code byte) netip.AddrPort {
	t.Helper()
	reply := func(query []byte) []byte {
		query[2], query[3] = query[2]|0x80, code
		return query
	}
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	buf := make([]byte, 512)
	if network == "udp" {
		c, err := net.ListenPacket(network, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(done)
			defer c.Close()
			if n, from, err := c.ReadFrom(buf); err == nil {
				_, _ = c.WriteTo(reply(buf[:n]), from)
			}
		}()
		return netip.MustParseAddrPort(c.LocalAddr().String())
	}
	l, err := net.Listen(network, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(done)
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if n, err := c.Read(buf); err == nil {
			// The length alone comes first: a stream has no messages.
			_, _ = c.Write(buf[:2])
			_, _ = c.Write(reply(buf[2:n]))
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

// A question is one that a name server understands.
func TestQuestion(t *testing.T) {
	q := question("a.example")
	if got := string(q[12:]); got != "\x01a\x07example\x00\x00\x01\x00\x01" {
		t.Errorf("%q", got)
	}
	if question("a")[2] != 1 || q[5] != 1 {
		t.Error("it must ask one thing, and want it looked up")
	}
}
