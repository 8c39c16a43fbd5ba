package probes

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// noRoute attacks N1.
func (m *Machine) noRoute(ctx context.Context) audit.Result {
	inSandbox := m.unreached(ctx, "N1", "connections by TCP, UDP and Unix sockets", hostile.Connect, hostile.Datagram, hostile.Socket)
	return m.fromContainer(ctx, inSandbox, func(b boxed) []string { return b.network })
}

// noLookup attacks N7.
func (m *Machine) noLookup(ctx context.Context) audit.Result {
	inSandbox := m.unreached(ctx, "N7", "DNS queries by UDP and TCP", hostile.Query)
	return m.fromContainer(ctx, inSandbox, func(b boxed) []string { return b.lookups })
}

// unreached tries to reach servers of this machine from a sandbox, whose own listener it can reach.
func (m *Machine) unreached(ctx context.Context, promise, what string, kinds ...string) audit.Result {
	ws, err := m.dir("net")
	if err != nil {
		return noStart(err)
	}
	s, why, err := m.sandboxed(ctx, promise, ws)
	if err != nil {
		return noStart(err)
	}
	if s.level == "" {
		return noSandbox(why)
	}
	servers, err := m.serve(ctx, kinds...)
	if err != nil {
		return noStart(err)
	}
	defer servers.end()
	attacks := servers.attacks()
	if free, err := m.run(ctx, m.command(ws, attacks...)); err != nil || len(free.Did) != len(attacks) {
		return noControl(fmt.Sprintf("without a sandbox, these fail, too: %q %v", free.Failed, err))
	}
	own := hostile.Connect + "=" + policy.ProxyAddress
	s.policy.Listener = s.full()
	if !s.full() {
		proxy, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return noStart(err)
		}
		defer proxy.Close()
		go echoStreams(proxy)
		s.policy.Ports = []uint16{uint16(proxy.Addr().(*net.TCPAddr).Port)}
		own = hostile.Connect + "=" + proxy.Addr().String()
	}
	c := m.inside(s, append(attacks, own)...)
	c.Accept = func(l net.Listener) { go echoStreams(l) }
	r, err := m.run(ctx, c)
	if err != nil {
		return noStart(err)
	}
	if did := slices.DeleteFunc(slices.Clone(r.Did), func(a string) bool { return a == own }); len(did) > 0 {
		return audit.Break(s.runtime, "a program in the sandbox reached this machine: %q", did)
	}
	if !slices.Contains(r.Did, own) {
		return noControl("the sandbox does not reach its own proxy either")
	}
	rest := "hosts outside of this machine were not tried"
	if !s.full() {
		rest += ", and neither was the port of the proxy, which is open on every host at this level"
	}
	return audit.Hold(s.runtime, "%s: a program in the sandbox reached none of %d servers of this machine, but its own proxy, and all of them without a sandbox; %s", what, len(attacks), rest)
}

// ownHostsInside attacks N3 once more, from a sandbox whose listener leads to the proxy.
func (m *Machine) ownHostsInside(ctx context.Context, before audit.Result) audit.Result {
	ws, err := m.dir("hosts")
	if err != nil {
		return noStart(err)
	}
	s, _, err := m.sandboxed(ctx, "N3", ws)
	if err != nil {
		return noStart(err)
	}
	if !s.full() {
		return before // the sandbox is not what leads to the proxy
	}
	n := &network{names: map[string][]string{}}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	honest := hostile.Tunnel + "=" + policy.ProxyAddress + "|" + allowedHost + ":443"
	s.policy.Listener = true
	c := m.inside(s, honest, hostile.Tunnel+"="+policy.ProxyAddress+"|"+otherHost+":443", hostile.Tunnel+"="+policy.ProxyAddress+"|127.0.0.1:443")
	c.Accept = func(l net.Listener) {
		p, err := m.Parts.Take(l, egress.Listener{Name: "skill", Allow: []string{allowedHost}}, egress.ProxyOptions{Resolver: n, Connect: n.connect, Report: n.report})
		if err != nil {
			failed <- err
			_ = l.Close()
			return
		}
		go func() { _ = p.Serve(serving) }() // it ends with the sandbox
	}
	r, err := m.run(ctx, c)
	if err != nil {
		return noStart(err)
	}
	if did := slices.DeleteFunc(slices.Clone(r.Did), func(a string) bool { return a == honest }); len(did) > 0 {
		return audit.Break(s.runtime, "a program in a sandbox got %q", did)
	}
	if !slices.Contains(r.Did, honest) {
		select {
		case err := <-failed:
			return noStart(err)
		default:
		}
		return noControl(fmt.Sprintf("an allowed host cannot be reached from a sandbox either: %q", r.Failed))
	}
	return audit.Hold(s.runtime, "%s; from inside a sandbox, its listener led to the allowed host and to no other", before.Evidence)
}
