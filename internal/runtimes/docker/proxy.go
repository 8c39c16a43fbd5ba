package docker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/terminal"
)

// startProxy starts the container of the proxy, tells it its listeners and waits until they
// are open.
func (s *Site) startProxy(ctx context.Context) error {
	c, err := s.launch(ctx, roleProxy)
	if err != nil {
		return err
	}
	said := &tail{}
	s.working.Go(func() { _, _ = io.Copy(said, c.Stderr) })
	// What is read here is read in another goroutine, so that ctx can end the wait.
	ready := make(chan error, 1)
	lines := bufio.NewReaderSize(c.Stdout, maxLine)
	go func() { ready <- s.openListeners(ctx, c, lines) }()
	select {
	case err = <-ready:
	case <-ctx.Done():
		s.cancel() // ends the connection, and the wait
		<-ready
		err = context.Cause(ctx)
	}
	if err != nil {
		s.status(roleProxy, "error", "it did not start")
		return explain(err, said)
	}
	s.status(roleProxy, "healthy", "")
	s.working.Go(func() { s.watchProxy(c, lines, said) })
	go s.keepProxy(c.Stdin)
	return nil
}

// keepProxy tells the proxy that we are there, until the site is closed.
func (s *Site) keepProxy(stdin io.Writer) {
	pulse := time.NewTicker(hostlink.Pulse)
	defer pulse.Stop()
	for {
		select {
		case <-pulse.C:
			if _, err := stdin.Write([]byte("\n")); err != nil {
				return // its end is noticed elsewhere
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// openListeners gives every listener a port of the proxy's address on the inner network, and hands
// them in. The proxy listens nowhere else, in particular not on the outer network, and serves
// no client there: a container on that network can send it packets for the inner address.
func (s *Site) openListeners(ctx context.Context, c *Container, lines *bufio.Reader) error {
	inner, err := s.innerAddress(ctx, c.id)
	if err != nil {
		return err
	}
	s.Listeners = map[string]string{}
	for i, l := range s.plan.listeners {
		l.Address, l.Clients = listenerAddress(inner, i), []netip.Prefix{s.inner.subnet}
		switch {
		case s.plan.tokenless():
			l.Token = ""
		case l.Token == "":
			l.Token = rand.Text()
		}
		if _, twice := s.Listeners[l.Name]; twice || l.Name == "" {
			return fmt.Errorf("two listeners are called %q, or one has no name", l.Name)
		}
		s.Listeners[l.Name] = listenerURL(l)
		s.listeners = append(s.listeners, l)
	}
	silence := s.plan.container().IdleTimeout + secondLook
	policy, err := json.Marshal(egress.ProxyConfig{Listeners: s.listeners, Upstream: s.plan.upstream, MaxSilence: int(silence / time.Second)})
	if err != nil {
		return err
	}
	if _, err := c.Stdin.Write(append(policy, '\n')); err != nil {
		return fmt.Errorf("hand in the listeners: %w", err)
	}
	// Its input stays open: the proxy ends when we do, however that comes.
	line, err := readLine(lines)
	if errors.Is(err, io.EOF) {
		return errors.New("it ended at once")
	}
	if err != nil {
		return err
	}
	return s.checkReady(line)
}

// innerAddress returns the address of a container on the inner network. It has one only
// since it runs.
func (s *Site) innerAddress(ctx context.Context, id string) (netip.Addr, error) {
	found, err := s.daemon.api.Inspect(ctx, id)
	if err != nil {
		return netip.Addr{}, err
	}
	if found.NetworkSettings != nil {
		for _, on := range found.NetworkSettings.Networks {
			if on != nil && on.NetworkID == s.inner.id && on.IPAddress.Is4() {
				return on.IPAddress, nil
			}
		}
	}
	return netip.Addr{}, errors.New("it has no address on the inner network")
}

// checkReady makes sure that the listeners that are open are those that were asked for.
func (s *Site) checkReady(line egress.Line) error {
	if line.Ready == nil || line.Access != nil || line.Closed != nil {
		return errors.New("its first line is not that it is ready")
	}
	same := slices.EqualFunc(line.Ready, s.listeners, func(a, b egress.Listener) bool { return a.Name == b.Name && a.Address == b.Address })
	if !same {
		return errors.New("it has opened other listeners than it was told to")
	}
	return nil
}

// watchProxy reports what the proxy decides, until it ends. If it ends before the site is
// closed, or says what it cannot mean, the run has no way out any more, and should know.
func (s *Site) watchProxy(c *Container, lines *bufio.Reader, said *tail) {
	err := s.follow(lines)
	if s.ctx.Err() != nil {
		s.status(roleProxy, "stopped", "")
		return
	}
	if errors.Is(err, io.EOF) {
		end := <-c.Exited
		switch {
		case end.Err != nil:
			err = fmt.Errorf("ended: %w", end.Err)
		case end.OutOfMemory:
			err = errors.New("ended: out of memory")
		default:
			err = fmt.Errorf("ended with exit code %d", end.Code)
		}
	}
	if s.ctx.Err() != nil { // the end that we waited for was Close
		s.status(roleProxy, "stopped", "")
		return
	}
	err = explain(fmt.Errorf("the proxy %w", err), said)
	s.status(roleProxy, "error", terminal.CleanLine(err.Error()))
	s.fail(err)
}

// follow reports the lines of the proxy until they end or cannot be trusted.
func (s *Site) follow(lines *bufio.Reader) error {
	for {
		line, err := readLine(lines)
		if err != nil {
			return err
		}
		switch {
		case line.Ready != nil:
			return errors.New("says twice that it is ready")
		case line.Access != nil && line.Closed == nil:
			access, err := s.decision(*line.Access)
			if err != nil {
				return err
			}
			s.report(access)
		case line.Closed != nil && line.Access == nil:
			s.plan.log.Debug("connection closed", "id", line.Closed.ID, "sent", line.Closed.Sent, "received", line.Closed.Received)
		default:
			return errors.New("wrote a line that is neither a decision nor an end")
		}
	}
}

// decision makes an event of one. The proxy reads what an Expert's programs send, so
// what it says is checked like theirs.
func (s *Site) decision(a egress.Access) (event.ProxyAccess, error) {
	known := slices.ContainsFunc(s.listeners, func(l egress.Listener) bool { return l.Name == a.Listener })
	if !known {
		return event.ProxyAccess{}, errors.New("reports a decision of a listener that it does not have")
	}
	if a.Port < 0 || a.Port > 65535 {
		return event.ProxyAccess{}, errors.New("reports a port that does not exist")
	}
	if a.Allowed != (a.Reason == "") || !a.Allowed && !slices.Contains(egress.Reasons(), a.Reason) {
		return event.ProxyAccess{}, errors.New("reports a decision without a reason, or with one that is not known")
	}
	if host, err := egress.ParseHost(a.Host); a.Allowed && (err != nil || host != a.Host) {
		return event.ProxyAccess{}, errors.New("let a connection through to an invalid host name")
	}
	s.plan.log.Debug("connection", "id", a.ID, "listener", a.Listener, "allowed", a.Allowed, "host", safeHost(a.Host), "port", a.Port,
		"reason", a.Reason, "address", safeHost(a.Address))
	action := "blocked"
	if a.Allowed {
		action = "allowed"
	}
	return event.ProxyAccess{Action: action, Domain: safeHost(a.Host), Port: a.Port, Reason: a.Reason, Listener: a.Listener}, nil
}

// maxHost is the length of the longest name.
const maxHost = 253

// safeHost returns the beginning of a host as it may be shown and kept: whatever is not
// part of a name or an address becomes a question mark.
func safeHost(host string) string {
	host = host[:min(len(host), maxHost)]
	safe := []byte(host)
	for i, c := range safe {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case bytes.IndexByte([]byte(".-_:[]%*"), c) >= 0:
		default:
			safe[i] = '?'
		}
	}
	return string(safe)
}

// maxLine bounds a line of the proxy: that it is ready names all listeners.
const maxLine = 1 << 20

func readLine(r *bufio.Reader) (line egress.Line, err error) {
	text, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return line, fmt.Errorf("wrote a line of more than %d bytes", maxLine)
	case errors.Is(err, io.EOF) && len(text) > 0:
		return line, errors.New("ended in the middle of a line")
	case err != nil:
		return line, err
	}
	if err := json.Unmarshal(text, &line, json.RejectUnknownMembers(true)); err != nil {
		return line, errors.New("wrote a line that cannot be read; the image may have another version of perstack")
	}
	return line, nil
}

// explain adds what a program wrote to its standard error before it failed.
func explain(err error, said *tail) error {
	if text := said.text(); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}
