package outside

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A watched connection tells its first bytes.
type watched struct {
	net.Conn
	once sync.Once
	told func([]byte)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.once.Do(func() { w.told(p[:n]) })
	}
	return n, err
}

// A reportingListener reports each connection.
type reportingListener struct {
	net.Listener
	*entryWriter
}

func (d reportingListener) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	from, port := conn.RemoteAddr().String(), portOf(conn.LocalAddr())
	d.tell(Entry{Kind: KindAccept, From: from, Port: port})
	return &watched{Conn: conn, told: func(first []byte) {
		d.tell(Entry{Kind: KindBytes, From: from, Port: port, Text: clip(first, 200)})
	}}, nil
}

// A site is a web server: it answers every request with its own words, or as its handler
// does.
type site struct {
	*entryWriter
	authority *Authority
	answer    func(w http.ResponseWriter, r *http.Request, body []byte)
}

// serve answers at one port until the listener is closed.
func (s *site) serve(listener net.Listener, encrypted bool) {
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	if encrypted {
		listener = tls.NewListener(listener, &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			s.tell(Entry{Kind: KindHello, From: hello.Conn.RemoteAddr().String(), Port: portOf(hello.Conn.LocalAddr()), Name: hello.ServerName})
			return s.authority.For(hello.ServerName)
		}})
	}
	_ = server.Serve(listener) // until the program ends
}

const maxBody = 1 << 20

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return // the client has left
	}
	port := 0
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		port = portOf(addr)
	}
	s.tell(Entry{
		Kind: KindRequest, From: r.RemoteAddr, Port: port, Name: r.Host, Text: r.Method + " " + r.RequestURI, Body: clip(body, maxBody),
		Key: r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "",
	})
	s.answer(w, r, body)
}

// hello is the answer of a web server without a script.
func hello(w http.ResponseWriter, r *http.Request, _ []byte) {
	_, _ = io.WriteString(w, Greeting+" "+r.Host+"\n")
}

// Greeting begins every page and every banner.
const Greeting = "hello from outside"

// banner greets at a port where no web server is.
func banner(_ context.Context, conn net.Conn) {
	defer conn.Close()
	_, _ = io.WriteString(conn, Greeting+"\n")
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
}

// accept hands out connections until the listener is closed.
func accept(ctx context.Context, l net.Listener, each func(context.Context, net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		go each(ctx, conn)
	}
}

// echo answers every packet.
func (t *entryWriter) echo(conn net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		t.tell(Entry{Kind: KindPacket, From: from.String(), Port: portOf(conn.LocalAddr()), Text: clip(buf[:n], 200)})
		_, _ = conn.WriteTo([]byte(Greeting), from)
	}
}

func portOf(a net.Addr) int {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(port)
	return n
}
