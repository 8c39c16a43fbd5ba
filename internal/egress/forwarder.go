package egress

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// A Forwarder is an HTTP proxy on this machine for one program of the user, such as a package
// manager. It reaches the servers that the user configured for that program, and no others.
//
// It differs from [Proxy], which is for programs that are not trusted: the user chose the
// servers, so they can have private addresses, any port, and plain http. TLS is end to end.
type Forwarder struct {
	reach     func() (Reach, error)
	token     string
	url       url.URL
	server    *http.Server
	transport *http.Transport // for plain http
	end       context.CancelFunc
	working   sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	refused   []string
	unreached error
}

// Reach says which servers a program can reach, and how.
type Reach struct {
	Servers []string // as [ServerOf] and [ParseServer] return them
	// HTTPProxy and HTTPSProxy are addresses of proxies through which they are reached, and NoProxy
	// lists hosts that are reached without, as the variables http_proxy, https_proxy and no_proxy do.
	HTTPProxy, HTTPSProxy, NoProxy string
}

func (r Reach) proxyFor(u *url.URL) (*url.URL, error) {
	config := httpproxy.Config{HTTPProxy: r.HTTPProxy, HTTPSProxy: r.HTTPSProxy, NoProxy: r.NoProxy}
	return config.ProxyFunc()(u)
}

// ServerOf returns the server of an http or https URL as host:port, in canonical spelling.
func ServerOf(u *url.URL) (string, error) {
	o, err := originOf(&url.URL{Scheme: u.Scheme, Host: u.Host}) // without a password
	if err != nil {
		return "", err
	}
	return o.server(), nil
}

func (o origin) server() string { return net.JoinHostPort(o.host, strconv.Itoa(int(o.port))) }

// ParseServer reads a host with an optional port, which is 443 by default.
func ParseServer(text string) (string, error) {
	u, err := url.Parse("https://" + text)
	if err != nil || u.Host != text {
		return "", refuse(BadOrigin, "%s is not a host or host:port", strconv.Quote(text))
	}
	return ServerOf(u)
}

const (
	maxRefused = 5  // servers that a Forwarder remembers
	maxIdle    = 15 // connections to a server in plain http, as npm uses
)

func connect(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
}

// Forward opens a Forwarder on a free port. Reach is called when a request arrives, perhaps
// several times at once.
func Forward(ctx context.Context, reach func() (Reach, error)) (*Forwarder, error) {
	socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &Forwarder{reach: reach, token: rand.Text()}
	f.transport = &http.Transport{
		DialContext: connect, MaxResponseHeaderBytes: maxHeader, DisableCompression: true, MaxIdleConnsPerHost: maxIdle,
		Proxy: func(q *http.Request) (*url.URL, error) {
			reach, err := f.reach()
			if err != nil {
				return nil, err
			}
			return reach.proxyFor(q.URL)
		},
	}
	f.url = url.URL{Scheme: "http", User: url.UserPassword(TokenUser, f.token), Host: socket.Addr().String()}
	ctx, f.end = context.WithCancel(ctx)
	f.server = &http.Server{
		Handler: f, ReadHeaderTimeout: usualLimits.head, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	f.working.Go(func() { _ = f.server.Serve(socket) })
	return f, nil
}

// URL is the address of the proxy, with the password that it wants.
func (f *Forwarder) URL() string { return f.url.String() }

// Port is the port of the proxy on this machine.
func (f *Forwarder) Port() uint16 {
	port, _ := strconv.ParseUint(f.url.Port(), 10, 16) // of a socket
	return uint16(port)
}

// Close ends all connections. It returns the servers that were asked for and refused, safe to
// print, and the first reason why an allowed one was not reached.
func (f *Forwarder) Close() (refused []string, unreached error) {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.end()
	_ = f.server.Close()
	f.working.Wait()
	f.transport.CloseIdleConnections()
	return f.refused, f.unreached
}

// ServeHTTP serves one request to the proxy.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !f.begin() {
		return
	}
	defer f.working.Done()
	if !f.knows(q) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="perstack"`)
		http.Error(w, "perstack: this proxy is for one program", http.StatusProxyAuthRequired)
		return
	}
	target := *q.URL // of a proxy request: absolute, or only the host with CONNECT
	if q.Method == http.MethodConnect {
		target = url.URL{Scheme: "https", Host: q.Host}
	}
	reach, err := f.reach()
	if err != nil {
		f.fail(w, q, err)
		return
	}
	target.User = nil
	o, err := originOf(&target)
	switch {
	case err != nil || q.Method != http.MethodConnect && o.scheme != "http":
		f.refuse(w, printable(target.Host))
		return
	case !slices.Contains(reach.Servers, o.server()):
		f.refuse(w, o.server())
		return
	}
	target.Host = o.authority() // only the canonical spelling is used from here on
	if q.Method == http.MethodConnect {
		f.tunnel(w, q, &target, reach)
		return
	}
	f.pass(w, q, &target)
}

// begin reports whether a request is served: not after Close.
func (f *Forwarder) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.working.Add(1)
	}
	return !f.closed
}

func (f *Forwarder) knows(q *http.Request) bool {
	scheme, shown, _ := strings.Cut(q.Header.Get("Proxy-Authorization"), " ")
	want, got := sha256.Sum256([]byte(basic(TokenUser, f.token))), sha256.Sum256([]byte(strings.TrimLeft(shown, " ")))
	return strings.EqualFold(scheme, "basic") && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

func (f *Forwarder) refuse(w http.ResponseWriter, server string) {
	f.mu.Lock()
	if !slices.Contains(f.refused, server) && len(f.refused) < maxRefused {
		f.refused = append(f.refused, server)
	}
	f.mu.Unlock()
	http.Error(w, "perstack: "+server+" is not configured", http.StatusForbidden)
}

// fail answers that an allowed server was not reached.
func (f *Forwarder) fail(w http.ResponseWriter, q *http.Request, err error) {
	f.mu.Lock()
	if q.Context().Err() == nil { // else the client has hung up
		f.unreached = cmp.Or(f.unreached, err)
	}
	f.mu.Unlock()
	http.Error(w, "perstack: "+err.Error(), http.StatusBadGateway)
}

// pass forwards a request in plain http.
func (f *Forwarder) pass(w http.ResponseWriter, q *http.Request, target *url.URL) {
	forward := &httputil.ReverseProxy{
		Transport: f.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Host = target, ""
		},
		ErrorHandler: func(w http.ResponseWriter, q *http.Request, err error) {
			f.fail(w, q, unreachable(target.Host, err))
		},
		ErrorLog: f.server.ErrorLog,
	}
	forward.ServeHTTP(w, q)
}

// unreachable says why a server was not reached, without the address of a proxy, which may
// contain a password.
func unreachable(server string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fmt.Errorf("cannot reach %s: %w", server, err)
}

// tunnel carries bytes between the client and a server.
func (f *Forwarder) tunnel(w http.ResponseWriter, q *http.Request, target *url.URL, reach Reach) {
	server, err := dial(q.Context(), target, reach)
	if err != nil {
		f.fail(w, q, unreachable(target.Host, err))
		return
	}
	defer server.Close()
	client, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	// The context of the request ends with the Forwarder: a hijacked connection does not.
	defer context.AfterFunc(q.Context(), func() { _ = errors.Join(client.Close(), server.Close()) })()
	_ = client.SetDeadline(time.Time{})
	if _, err := io.WriteString(client, established); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { copyAndFinish(client, server) })
	copyAndFinish(server, early)
	back.Wait()
}

// copyAndFinish copies until the end, and says so to the receiver. The other direction can continue.
func copyAndFinish(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
		return
	}
	_ = to.Close()
}

// dial connects to a server, through the proxy of the user if there is one.
func dial(ctx context.Context, target *url.URL, reach Reach) (net.Conn, error) {
	server, err := ServerOf(target)
	if err != nil {
		return nil, err
	}
	proxy, err := reach.proxyFor(target)
	switch {
	case err != nil:
		return nil, errors.New("the proxy that is configured has no valid address")
	case proxy == nil:
		return connect(ctx, "tcp", server)
	case proxy.Scheme != "http" && proxy.Scheme != "https":
		return nil, errors.New("the proxy that is configured is neither http nor https")
	}
	address, err := ServerOf(proxy)
	if err != nil {
		return nil, errors.New("the proxy that is configured has no valid address")
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := connect(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the proxy that is configured does not answer: %w", err)
	}
	if proxy.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname()})
	}
	up := upstream{}
	if proxy.User != nil {
		password, _ := proxy.User.Password()
		up.secret = basic(proxy.User.Username(), password)
	}
	if err := up.ask(ctx, conn, server); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the proxy that is configured did not connect: %w", err)
	}
	return conn, nil
}
