package egress

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/perstack-go/perstack/internal/netaddr"
)

func notListed(host string) *denial {
	return refused(ReasonDomain, "%s is not among the hosts that may be reached (allowedDomains)", host)
}

// canAsk reports whether it makes sense to ask about a host. A private one cannot be reached, whatever
// the answer is.
func (p *Proxy) canAsk(host string) bool {
	return p.ask != nil && netaddr.HostReach(host) == netaddr.Public
}

// await asks about a host that is not listed, while the client waits. The name is not looked up before:
// it can contain what a program wants to send out. If the client goes away, the question is withdrawn.
// early is what the client has sent behind its request so far, and the result what it has by then.
func (p *Proxy) await(ctx context.Context, client net.Conn, listener, host string, early []byte) ([]byte, *denial) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	_ = client.SetDeadline(time.Time{})
	read := make(chan []byte, 1)
	go func() {
		var first [1]byte
		n, err := client.Read(first[:])
		if n == 0 && err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
		}
		read <- first[:n]
	}()
	allowed := p.ask(ctx, listener, host, tlsPort)
	_ = client.SetReadDeadline(time.Unix(1, 0))
	early = append(early, <-read...)
	_ = client.SetDeadline(time.Now().Add(p.limits.head))
	if !allowed || ctx.Err() != nil {
		return nil, notListed(host)
	}
	return early, nil
}
