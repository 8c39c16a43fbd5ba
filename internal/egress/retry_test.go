package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// earlyData puts bytes into records of encrypted data.
func earlyData(data []byte) (out []byte) {
	for chunk := range slices.Chunk(data, maxRecord) {
		out = append(out, 23, 3, 3, byte(len(chunk)>>8), byte(len(chunk)))
		out = append(out, chunk...)
	}
	return out
}

const (
	cipherChange = "\x14\x03\x03\x00\x01\x01"
	warning      = "\x15\x03\x03\x00\x02\x01\x00"
)

// answerRecord is the hello of a server with a random value.
func answerRecord(random string) []byte {
	body := append([]byte{3, 3}, random...)
	body = append(body, 0, 0x13, 0x01, 0) // session, cipher, compression
	return cut(append([]byte{messageAnswer, 0, 0, byte(len(body))}, body...), 1000)
}

// A retrying server answers the first hello with a request for another one, and keeps what
// it is sent.
type retryingServer struct {
	net.Listener
	heard chan []byte // all that one client sent
}

func newRetryingServer(t *testing.T, answer []byte) *retryingServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &retryingServer{l, make(chan []byte, 1)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			first, _, _ := readHello(conn)
			_, _ = conn.Write(answer)
			rest, _ := io.ReadAll(conn)
			_ = conn.Close()
			s.heard <- append(first, rest...)
		}
	}()
	return s
}

// Promise N8, finding T12: a server that was sent a good hello can want a second one. The
// name in it counts as well, wherever it comes in what the client sends before the server
// has answered.
func TestProxyChecksLaterHellos(t *testing.T) {
	const name = "a.example.com"
	first := cut(handmade(names(name)), 1000)
	hello := func(names []byte, sizes ...int) string { return string(cut(handmade(names), sizes...)) }
	other := names("b.example.com")
	early := string(earlyData(make([]byte, 100)))
	retry := answerRecord(retryRandom)
	for what, test := range map[string]struct {
		sent   string // behind the first hello
		passed int    // bytes of it that the server sees
		reason string
	}{
		"the same name":            {hello(names(name), 1000), -1, ""},
		"in other letters":         {hello(names("A.EXAMPLE.com."), 1000), -1, ""},
		"in pieces":                {hello(names(name), 1), -1, ""},
		"after a change":           {cipherChange + hello(names(name), 1000), -1, ""},
		"after early data":         {cipherChange + early + early + hello(names(name), 30), -1, ""},
		"after an alert":           {warning + hello(names(name), 1000), -1, ""},
		"twice":                    {hello(names(name), 1000) + hello(names(name), 1000), -1, ""},
		"another name":             {hello(other, 1000), 0, ReasonServerName},
		"another in pieces":        {hello(other, 1), 0, ReasonServerName},
		"another after a change":   {cipherChange + hello(other, 1000), len(cipherChange), ReasonServerName},
		"another after early data": {early + hello(other, 1000), len(early), ReasonServerName},
		"another after an alert":   {warning + hello(other, 1000), len(warning), ReasonServerName},
		"another as the third":     {hello(names(name), 1000) + hello(other, 1000), len(first), ReasonServerName},
		"no name":                  {hello(extension(21, nil), 1000), 0, ReasonServerName},
		"two names":                {hello(names(name, "b.example.com"), 1000), 0, ReasonServerName},
		"a hidden name":            {hello(slices.Concat(names(name), extension(extHidden, []byte{0})), 1000), 0, ReasonServerName},
		"two in a record":          {string(cut(slices.Concat(handmade(names(name)), handmade(other)), 1000)), 0, ReasonHello},
		"a change in the middle":   {string(cut(handmade(names(name))[:10], 10)) + cipherChange + string(cut(handmade(names(name))[10:], 1000)), 0, ReasonHello},
		"another message":          {string(cut([]byte{16, 0, 0, 1, 0}, 100)) + hello(other, 1000), 0, ReasonHello},
		"another behind a message": {string(cut(slices.Concat([]byte{16, 0, 0, 1, 0}, handmade(other)), 1000)), 0, ReasonHello},
		"no TLS":                   {"GET / HTTP/1.1\r\nHost: b.example.com\r\n\r\n", 0, ReasonHello},
		"SSL 2":                    {"\x80\x2e\x01\x00\x02", 0, ReasonHello},
		"another version":          {"\x16\x04\x01\x00\x01\x01", 0, ReasonHello},
		"a long record":            {"\x17\x03\x03\xff\xff", 0, ReasonHello},
	} {
		for how, answer := range map[string][]byte{
			"retry": retry, "retry in pieces": cut(message(t, retry), 7), "a message before": append(cut([]byte{0, 0, 0, 0}, 4), retry...),
			"an alert before": append([]byte(warning), retry...), "no answer": nil, "no TLS": []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		} {
			s := newRetryingServer(t, answer)
			n := &network{server: s.Addr().String(), names: names1(map[string]string{name: "8.8.8.8"})}
			w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com"}}}})
			for _, when := range []string{"with the request", "with the hello", "after the answer"} {
				what := what + ", " + how + ", " + when
				conn := w.knock(0)
				send := func(text string) {
					if _, err := io.WriteString(conn, text); err != nil {
						t.Fatal(what, err)
					}
				}
				second := string(first) + test.sent
				switch when {
				case "with the request":
					send(connectTo(name) + second)
					answerOf(t, conn)
				case "with the hello":
					send(connectTo(name))
					answerOf(t, conn)
					send(second)
				case "after the answer":
					send(connectTo(name))
					answerOf(t, conn)
					send(string(first))
					if got, err := io.ReadAll(io.LimitReader(conn, int64(len(answer)))); err != nil || !bytes.Equal(got, answer) {
						t.Errorf("%s: the client got %q, %v", what, got, err)
					}
					send(test.sent)
				}
				_ = conn.CloseWrite()
				_, _ = io.Copy(io.Discard, conn) // until the proxy closes it
				want := second
				if test.passed >= 0 {
					want = second[:len(first)+test.passed]
				}
				if got := <-s.heard; string(got) != want {
					t.Errorf("%s: the server was sent %d bytes, want %d", what, len(got), len(want))
				}
				a := w.access()
				if !a.Allowed {
					t.Errorf("%s: reported %+v first", what, a)
				}
				if test.reason != "" {
					if b := w.access(); b.Allowed || b.Reason != test.reason || b.ID != a.ID || b.Host != name {
						t.Errorf("%s: reported %+v, want %s", what, b, test.reason)
					}
					attack.Held(t, "T12", 1)
				}
				if c := w.closed(); c.ID != a.ID || c.Sent != int64(len(want)) {
					t.Errorf("%s: counted %+v, want %d", what, c, len(want))
				}
				w.quiet()
			}
		}
	}
}

// A server that has answered chose its certificate. What follows is not looked at: the last
// messages of TLS 1.2 are such records too.
func TestProxyReadsNothingAfterTheAnswer(t *testing.T) {
	first := string(cut(handmade(names("a.example.com")), 1000))
	answer := answerRecord(strings.Repeat("r", len(retryRandom)))
	for how, answer := range map[string][]byte{
		"at once": answer, "in pieces": cut(message(t, answer), 5), "after a retry": append(answerRecord(retryRandom), answer...),
		"in the record of a retry": cut(append(message(t, answerRecord(retryRandom)), message(t, answer)...), 1000),
	} {
		s := newRetryingServer(t, answer)
		n := &network{server: s.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
		w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com"}}}})
		conn := w.tunnel(0, "a.example.com")
		_, _ = io.WriteString(conn, first)
		if _, err := io.ReadFull(conn, make([]byte, len(answer))); err != nil {
			t.Fatal(err)
		}
		rest := string(cut([]byte{16, 0, 0, 1, 0}, 100)) + cipherChange + string(cut(make([]byte, 40), 40)) + "anything"
		_, _ = io.WriteString(conn, rest)
		_ = conn.CloseWrite()
		if got := <-s.heard; string(got) != first+rest {
			t.Errorf("%s: the server was sent %d bytes, want %d", how, len(got), len(first+rest))
		}
		if a := w.access(); !a.Allowed {
			t.Errorf("%s: reported %+v", how, a)
		}
		w.closed()
	}
}

// A rewriter is a client that names another host in its second hello.
type rewriter struct {
	net.Conn
	hellos int
}

func (r *rewriter) Write(p []byte) (int, error) {
	if at := bytes.Index(p, []byte{22, 3}); at >= 0 && p[at+5] == messageHello {
		if r.hellos++; r.hellos == 2 {
			p = bytes.Replace(p, []byte("a.example.com"), []byte("b.example.com"), 1)
		}
	}
	return r.Conn.Write(p)
}

// Clients and servers of crypto/tls work, in every version, with a second hello, resumed,
// and with a hello that needs several records. The attack of finding T12 is refused.
func TestProxyCarriesTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{}
	var curves []tls.CurveID
	var mu sync.Mutex
	s.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		c := s.TLS.Clone()
		c.CurvePreferences = curves
		c.SetSessionTicketKeys([][32]byte{{1}})
		c.GetConfigForClient = nil
		return c, nil
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	n := &network{server: s.Listener.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com"}}}})
	large := strings.Split(strings.Repeat("a-protocol-with-a-name ", 1500), " ")[:1500]
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, retry := range []bool{false, true} {
			for _, protocols := range [][]string{nil, append(large, "http/1.1")} {
				what := fmt.Sprintf("%s, retry %v, %d protocols", tls.VersionName(version), retry, len(protocols))
				mu.Lock()
				if curves = nil; retry {
					curves = []tls.CurveID{tls.CurveP521}
				}
				mu.Unlock()
				config := &tls.Config{ //nolint:gosec // the certificate is not the question
					ServerName: "a.example.com", InsecureSkipVerify: true, MinVersion: version, MaxVersion: version, NextProtos: protocols,
					ClientSessionCache: tls.NewLRUClientSessionCache(1),
				}
				for resumed := range 2 {
					c := tls.Client(w.tunnel(0, "a.example.com"), config)
					_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n")
					answer, _ := io.ReadAll(c)
					state := c.ConnectionState()
					if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 404")) || !w.access().Allowed {
						t.Errorf("%s: %v, %.20q", what, err, answer)
					}
					if state.DidResume != (resumed == 1) || state.HelloRetryRequest != (retry && version == tls.VersionTLS13) {
						t.Errorf("%s: resumed %v, retried %v", what, state.DidResume, state.HelloRetryRequest)
					}
					_ = c.Close()
					w.closed()
				}
			}
		}
	}
	c := tls.Client(&rewriter{Conn: w.tunnel(0, "a.example.com")}, &tls.Config{ServerName: "a.example.com", InsecureSkipVerify: true}) //nolint:gosec // as above
	if err := c.HandshakeContext(t.Context()); err == nil {
		t.Error("a second hello with another name was answered")
	}
	if a, b := w.access(), w.access(); !a.Allowed || b.Allowed || b.Reason != ReasonServerName {
		t.Errorf("reported %+v, then %+v", a, b)
	}
}

// An opensslProgram is a running command of OpenSSL.
type opensslProgram struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	said  strings.Builder
}

func startOpenSSL(t *testing.T, dir string, args ...string) *opensslProgram {
	t.Helper()
	p := &opensslProgram{t: t, cmd: exec.CommandContext(t.Context(), "openssl", args...)}
	p.cmd.Dir = dir
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr, p.out = in, in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); in.Close() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _, _ = io.Copy(io.Discard, out) })
	return p
}

// await reads until the program has said something.
func (p *opensslProgram) await(text string) {
	p.t.Helper()
	for !strings.Contains(p.said.String(), text) {
		line, err := p.out.ReadString('\n')
		p.said.WriteString(line)
		if err != nil {
			p.t.Fatalf("openssl %v does not say %q: %s", p.cmd.Args, text, p.said.String())
		}
	}
}

// rest ends the program and returns all that it said.
func (p *opensslProgram) rest() string {
	_ = p.stdin.Close()
	all, _ := io.ReadAll(p.out)
	return p.said.String() + string(all)
}

// The client of OpenSSL, with a server that asks for a second hello and takes early data.
func TestProxyCarriesOpenSSL(t *testing.T) {
	testkit.Need(t, "openssl")
	dir := t.TempDir()
	startOpenSSL(t, dir, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a.example.com",
		"-keyout", "key.pem", "-out", "cert.pem").rest()
	if err := os.WriteFile(filepath.Join(dir, "early.txt"), bytes.Repeat([]byte("early"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	server := startOpenSSL(t, dir, "s_server", "-accept", free.Addr().String(), "-key", "key.pem", "-cert", "cert.pem", "-groups", "P-521:X25519", "-early_data")
	server.await("ACCEPT")
	go func() { _, _ = io.Copy(io.Discard, server.out) }()
	n := &network{server: free.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com"}}}})
	for _, test := range []struct {
		args  string
		retry bool
		want  string
	}{
		{"-tls1_2", false, "Master-Key"},
		{"-tls1_3 -groups P-521 -sess_out ticket.pem", false, "New Session Ticket arrived"},
		{"-tls1_3 -groups P-256:P-521", true, "New Session Ticket arrived"},
		{"-tls1_3 -groups P-521 -sess_in ticket.pem -early_data early.txt", false, "Early data was accepted"},
		{"-tls1_3 -groups P-521 -sess_out ticket.pem", false, "New Session Ticket arrived"},
		{"-tls1_3 -groups P-256:P-521 -sess_in ticket.pem -early_data early.txt", true, "Early data was rejected"},
	} {
		client := startOpenSSL(t, dir, append([]string{
			"s_client", "-msg", "-proxy", w.listeners[0].Address, "-connect", "a.example.com:443", "-servername", "a.example.com",
		}, strings.Fields(test.args)...)...)
		client.await(test.want)
		said := client.rest()
		if hellos := strings.Count(said, "ClientHello"); hellos != 1 && !test.retry || hellos != 2 && test.retry {
			t.Errorf("%s: %d hellos\n%s", test.args, hellos, said)
		}
		if a := w.access(); !a.Allowed {
			t.Errorf("%s: reported %+v", test.args, a)
		}
		w.closed()
	}
}

// FuzzLaterHellos feeds the tunnel whatever client and server may send. What is passed on is
// what came, and no hello in it names another host, unless the server had answered.
func FuzzLaterHellos(f *testing.F) {
	good, bad := cut(handmade(names("a.example.com")), 1000), cut(handmade(names("b.example.com")), 30)
	f.Add(slices.Concat([]byte(cipherChange), earlyData(make([]byte, 10)), good), answerRecord(retryRandom))
	f.Add(slices.Concat(good, bad), append([]byte(warning), answerRecord(retryRandom)...))
	f.Add(bad, answerRecord(strings.Repeat("r", 32)))
	f.Fuzz(func(t *testing.T, said, answer []byte) {
		client, server := &deaf{in: bytes.NewReader(said)}, &deaf{in: bytes.NewReader(answer)}
		tunnel := &tunnel{client: client, server: server, host: "a.example.com", rest: bytes.NewReader(nil), idle: 1}
		if received := tunnel.awaitAnswer(); !bytes.HasPrefix(answer, client.heard) || received != int64(len(client.heard)) {
			t.Fatalf("the client got %q of %q", client.heard, answer)
		}
		answered := tunnel.answered.Load()
		sent, refused := tunnel.checkHellos()
		if !bytes.HasPrefix(said, server.heard) || sent != int64(len(server.heard)) {
			t.Fatalf("the server got %q of %q", server.heard, said)
		}
		for rest := server.heard; !answered && len(rest) > 0; {
			if rest[0] != recordHandshake {
				rest = rest[5+(int(rest[3])<<8|int(rest[4])):]
				continue
			}
			raw, name, err := readHello(bytes.NewReader(rest))
			if host, _ := ParseHost(name); err != nil || host != "a.example.com" {
				t.Fatalf("%q passed (%v, refused: %v)", name, err, refused)
			}
			rest = rest[len(raw):]
		}
	})
}
