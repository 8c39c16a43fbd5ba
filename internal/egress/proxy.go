package egress

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A Proxy opens tunnels to the hosts that its listeners allow. It decides on the canonical
// name, looks it up once, checks all addresses, dials one of these addresses, and passes
// bytes on when the TLS hello names the same host. It reads nothing after the hellos: the
// client checks certificates, end to end.
type Proxy struct {
	listeners []compiledListener
	sockets   []net.Listener
	upstream  upstream
	resolver  Resolver
	connect   connectFunc
	limits    limits
	report    func(Line) error
	ask       func(ctx context.Context, listener, host string, port int) bool

	most         int
	slots        *slots
	pending      []pendingConns
	rateLimiters []*rate.Limiter
	foreigners   *rate.Limiter // how many foreign clients are reported
	answers      chan struct{} // one for each client that reads why it is refused
	ids          atomic.Int64
	reporter     *reporter
}

// limits are how long things may take.
type limits struct {
	head  time.Duration // to send a request
	dial  time.Duration // to look up and connect
	hello time.Duration // to send the TLS hello
	idle  time.Duration // for a tunnel in which nothing flows
	total time.Duration // for a tunnel
}

var usualLimits = limits{head: 10 * time.Second, dial: dialTimeout, hello: 10 * time.Second, idle: 10 * time.Minute, total: 24 * time.Hour}

// ProxyOptions are what a proxy works with.
type ProxyOptions struct {
	Resolver Resolver // nil means that of the system
	// Report is called with every decision when it is made, one at a time. No byte of an
	// allowed connection flows before it has returned. If it fails or hangs, the proxy ends.
	Report func(Line) error
	// Connect dials an address that was checked; nil means the network. An audit has its own
	// server behind every address.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
	// Ask is asked about a public host that its listener does not list, before the name is looked up.
	// The client waits for the answer. Nil refuses all of them.
	Ask func(ctx context.Context, listener, host string, port int) bool
}

// Listen checks the policy and opens all listeners. Clients wait until [Proxy.Serve].
func Listen(ctx context.Context, config ProxyConfig, o ProxyOptions) (*Proxy, error) {
	p, err := newProxy(config, o)
	if err != nil {
		return nil, err
	}
	for i := range p.listeners {
		socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.listeners[i].address.String())
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("listener %q: %w", p.listeners[i].Name, err)
		}
		p.sockets = append(p.sockets, socket)
	}
	return p, nil
}

// Take returns a proxy with one listener that is open already, such as one in another network.
func Take(socket net.Listener, listener Listener, o ProxyOptions) (*Proxy, error) {
	listener.Address = socket.Addr().String()
	p, err := newProxy(ProxyConfig{Listeners: []Listener{listener}}, o)
	if err != nil {
		return nil, err
	}
	p.sockets = []net.Listener{socket}
	return p, nil
}

// newProxy checks the policy. The proxy has no sockets yet.
func newProxy(config ProxyConfig, o ProxyOptions) (*Proxy, error) {
	listeners, up, err := config.compile()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		listeners: listeners, upstream: up, resolver: orSystem(o.Resolver), report: o.Report, ask: o.Ask, limits: usualLimits,
		connect: orNetwork(o.Connect),
		most:    cmp.Or(config.MaxConnections, DefaultMaxConnections),
		pending: make([]pendingConns, len(listeners)),
		answers: make(chan struct{}, maxAnswers), foreigners: rate.NewLimiter(rate.Every(time.Minute), maxForeigners),
	}
	p.slots = newSlots(p.most, len(listeners))
	for range listeners {
		p.rateLimiters = append(p.rateLimiters, newRateLimiter())
	}
	return p, nil
}

// maxAnswers is how many refused clients the proxy waits for at once while they read the
// answer.
const maxAnswers = 64

// maxForeigners is how many foreign clients are reported at once.
const maxForeigners = 10

func orNetwork(connect connectFunc) connectFunc {
	if connect == nil {
		return (&net.Dialer{}).DialContext
	}
	return connect
}

// Listeners returns the listeners with the addresses that they listen at, and without tokens.
func (p *Proxy) Listeners() []Listener {
	listeners := make([]Listener, len(p.listeners))
	for i, d := range p.listeners {
		listeners[i] = d.Listener
		listeners[i].Token = ""
		listeners[i].Address = p.sockets[i].Addr().String()
	}
	return listeners
}

// Close closes the listeners of a proxy that does not serve.
func (p *Proxy) Close() {
	for _, s := range p.sockets {
		_ = s.Close()
	}
}

// Serve reports that the listeners are open and serves until the context ends. Then it closes
// all connections, and returns when the last line is reported: with the cause of the
// context, or with the error that kept it from reporting.
func (p *Proxy) Serve(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer context.AfterFunc(ctx, p.Close)()
	p.reporter = newReporter(p.report, fail)
	var all sync.WaitGroup
	if p.reporter.report(Line{Ready: p.Listeners()}) == nil {
		for i, s := range p.sockets {
			all.Go(func() { p.accept(ctx, i, s, &all, fail) })
		}
	}
	<-ctx.Done()
	all.Wait()
	p.reporter.close()
	return context.Cause(ctx)
}

// accept lets clients in, not more than could be served or told why not: the others wait
// in the queue of the system.
func (p *Proxy) accept(ctx context.Context, listener int, l net.Listener, all *sync.WaitGroup, fail context.CancelCauseFunc) {
	slots := make(chan struct{}, p.most+2*maxPending)
	pause := time.Duration(0)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			all.Go(func() {
				defer func() { <-slots }()
				p.serve(ctx, listener, conn)
			})
			continue
		case ctx.Err() != nil:
			return
		case errors.Is(err, net.ErrClosed):
			fail(err)
			return
		}
		// Too many files are open, say: it passes when connections end.
		<-slots
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// serve is the life of one connection.
func (p *Proxy) serve(ctx context.Context, listener int, client net.Conn) {
	ctx, cancel := context.WithTimeout(ctx, p.limits.total)
	defer cancel()
	defer client.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()

	access := Access{ID: p.ids.Add(1), Listener: p.listeners[listener].Name}
	if !p.listeners[listener].serves(client.RemoteAddr()) {
		p.turnAway(access)
		return
	}
	_ = client.SetDeadline(time.Now().Add(p.limits.head))
	p.pending[listener].enter(client)
	q, err := readRequest(client)
	welcome := p.pending[listener].leave(client)
	access.Host, access.Port = Shown(q.target)
	if !errors.Is(err, errNothing) || !welcome {
		_ = p.rateLimiters[listener].Wait(ctx) // it fails if the context ends
	}
	switch {
	case !welcome:
		p.refuse(client, access, refused(ReasonLimit, "the client sent no request, and newer connections took its place"))
		return
	case errors.Is(err, errNothing):
		return // no request, so no decision
	case err != nil:
		p.refuse(client, access, refused(ReasonRequest, "%s", err))
		return
	}
	host, no := p.listeners[listener].admit(q)
	unlisted := no != nil && no.reason == ReasonDomain && p.canAsk(host)
	if unlisted {
		no = nil
	}
	if no == nil && len(q.rest) > 0 && q.rest[0] != recordHandshake {
		no = refused(ReasonHello, "%s", errNoHello)
	}
	if no != nil {
		p.refuse(client, access, no)
		return
	}
	if !p.slots.take(listener) {
		p.refuse(client, access, refused(ReasonLimit, "too many connections are open; close some"))
		return
	}
	defer p.slots.leave(listener)
	if unlisted {
		if q.rest, no = p.await(ctx, client, access.Listener, host, q.rest); no != nil {
			p.refuse(client, access, no)
			return
		}
	}
	server, address, no := p.reach(ctx, host)
	if no != nil {
		p.refuse(client, access, no)
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	access.Address = address
	p.connected(client, server, host, q.rest, access)
}

// turnAway reports a client that comes from a foreign address. It gets no answer, takes none
// of the requests that the others can make, and cannot fill the journal: after a few lines
// there is one a minute.
func (p *Proxy) turnAway(access Access) {
	if !p.foreigners.Allow() {
		return
	}
	access.Reason = ReasonClient
	_ = p.reporter.report(Line{Access: &access})
}

func (p *Proxy) refuse(client net.Conn, access Access, no *denial) {
	access.Reason = no.reason
	if p.reporter.report(Line{Access: &access}) != nil {
		return
	}
	select {
	case p.answers <- struct{}{}:
		answer(client, no, true)
		<-p.answers
	default: // too many are refused at once to wait for them
		answer(client, no, false)
	}
}

// connected continues when the server is connected: it lets the client begin, compares the
// name in its hello, and carries the bytes.
func (p *Proxy) connected(client, server net.Conn, host string, early []byte, access Access) {
	_ = client.SetDeadline(time.Now().Add(p.limits.hello))
	if _, err := io.WriteString(client, established); err != nil {
		access.Reason = ReasonHello
		_ = p.reporter.report(Line{Access: &access})
		return
	}
	rest := bytes.NewReader(early)
	first, name, err := readHello(io.MultiReader(rest, client))
	if err == nil {
		err = compareName(name, host)
	}
	if err != nil {
		_ = server.Close() // it has not seen a byte
		access.Reason = reasonOf(err)
		if p.reporter.report(Line{Access: &access}) == nil && access.Reason == ReasonServerName {
			alert(client)
		}
		return
	}
	access.Allowed = true
	if p.reporter.report(Line{Access: &access}) != nil {
		return
	}
	t := &tunnel{client: client, server: server, host: host, rest: rest, idle: p.limits.idle}
	sent, received, err := p.carry(t, first)
	if err != nil { // a later hello: the decision is taken back
		later := access // the first decision is the reader's
		later.Allowed, later.Reason = false, reasonOf(err)
		_ = p.reporter.report(Line{Access: &later})
	}
	_ = p.reporter.report(Line{Closed: &Closed{ID: access.ID, Sent: sent, Received: received}})
}

// carry sends the hello on, and then what follows.
func (p *Proxy) carry(t *tunnel, first []byte) (sent, received int64, refused error) {
	_ = t.client.SetDeadline(time.Time{})
	_ = t.server.SetDeadline(time.Now().Add(p.limits.hello))
	n, err := t.server.Write(first)
	if err != nil {
		return int64(n), 0, nil
	}
	_ = t.server.SetDeadline(time.Time{})
	sent, received, refused = t.carry()
	return int64(n) + sent, received, refused
}
