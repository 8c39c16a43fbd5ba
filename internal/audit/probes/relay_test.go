package probes

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/perstack-go/perstack/internal/egress"
)

func (believing) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(public)}, nil
}

// A relay is before the real proxy and takes a protection away.
type relay struct {
	Proxy
	listeners []net.Listener
	rewrite   func(head string) string
	hello     func(ctx context.Context, proxy net.Conn)
}

func relayed(listen func(context.Context, egress.ProxyConfig, egress.ProxyOptions) (Proxy, error), rewrite func(string) string, hello func(context.Context, net.Conn)) func(context.Context, egress.ProxyConfig, egress.ProxyOptions) (Proxy, error) {
	return func(ctx context.Context, c egress.ProxyConfig, o egress.ProxyOptions) (Proxy, error) {
		real, err := listen(ctx, c, o)
		r := &relay{Proxy: real, rewrite: rewrite, hello: hello}
		for range c.Listeners {
			l, failed := net.Listen("tcp", "127.0.0.1:0")
			if failed != nil {
				return nil, failed
			}
			r.listeners = append(r.listeners, l)
		}
		return r, err
	}
}

func (r *relay) Listeners() []egress.Listener {
	all := r.Proxy.Listeners()
	for i := range all {
		all[i].Address = r.listeners[i].Addr().String()
	}
	return all
}

func (r *relay) Serve(ctx context.Context) error {
	for i, l := range r.listeners {
		go func() {
			for {
				client, err := l.Accept()
				if err != nil {
					return
				}
				go r.carry(ctx, client, r.Proxy.Listeners()[i].Address)
			}
		}()
		defer l.Close()
	}
	return r.Proxy.Serve(ctx)
}

func (r *relay) carry(ctx context.Context, client net.Conn, address string) {
	defer client.Close()
	proxy, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer proxy.Close()
	head := readHead(client)
	if r.rewrite != nil {
		head = r.rewrite(head)
	}
	_, _ = io.WriteString(proxy, head)
	answer := readHead(proxy)
	if r.hello != nil && strings.Contains(answer, " 200") {
		_, _ = io.WriteString(client, answer)
		r.hello(ctx, proxy)
		return
	}
	_, _ = io.WriteString(client, answer)
	go func() { _, _ = io.Copy(proxy, client) }()
	_, _ = io.Copy(client, proxy)
}

func readHead(from net.Conn) string {
	var head strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(head.String(), "\r\n\r\n") {
		if _, err := from.Read(one); err != nil {
			break
		}
		head.Write(one)
	}
	return head.String()
}

// anyPort makes the proxy believe that every port is the right one.
func anyPort(head string) string {
	return strings.NewReplacer(":80 ", ":443 ", ":80\r", ":443\r").Replace(head)
}

// honestHello sends a hello that the proxy accepts in the place of the client's.
func honestHello(ctx context.Context, proxy net.Conn) {
	_ = tls.Client(proxy, &tls.Config{ServerName: allowedHost, InsecureSkipVerify: true}).HandshakeContext(ctx)
}
