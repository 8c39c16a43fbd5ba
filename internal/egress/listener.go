package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// A Listener is one port of the proxy: the token that its clients need, and the hosts that it
// allows.
type Listener struct {
	Name    string   `json:"name"`    // as decisions are reported: engine, or Expert and skill
	Address string   `json:"address"` // to listen at, address:port; port 0 chooses one
	Allow   []string `json:"allow"`   // names and *.names; empty allows nothing
	// Token is the password that a client has to show, with the user name perstack
	// (Proxy-Authorization: Basic); empty for none.
	Token string `json:"token,omitzero"`
	// Clients are the blocks of addresses from which clients come; empty means any address.
	// A machine takes what is sent to any of its addresses on every network that it is on,
	// so listening on one of them is not enough to keep a network out.
	Clients []netip.Prefix `json:"clients,omitzero"`
}

// A ProxyConfig says what a proxy does: one JSON document, for perstack egress --policy.
type ProxyConfig struct {
	Listeners []Listener `json:"listeners"`
	// Upstream is a proxy that every connection goes through, http://[user:password@]host:port;
	// empty for none. It looks names up itself: addresses cannot be checked then.
	Upstream       string `json:"upstream,omitzero"`
	MaxConnections int    `json:"maxConnections,omitzero"` // at once, through all listeners; 0 means DefaultMaxConnections
	// MaxSilence is how many seconds the input from which this was read may say nothing; 0
	// means that only its end counts.
	MaxSilence int `json:"maxSilence,omitzero"`
}

// DefaultMaxConnections is how many tunnels may be open at once.
const DefaultMaxConnections = 256

// A Line is what perstack egress prints: one JSON object a line, one member set.
type Line struct {
	Ready  []Listener `json:"ready,omitzero"` // all listeners are open; with their addresses, without tokens
	Access *Access    `json:"access,omitzero"`
	Closed *Closed    `json:"closed,omitzero"`
}

// Access is one decision, reported when it is made.
type Access struct {
	ID       int64  `json:"id"` // of the connection; counts up
	Listener string `json:"listener"`
	Allowed  bool   `json:"allowed"`
	Host     string `json:"host"` // in its canonical spelling, or as far as it was understood, safe to print
	Port     int    `json:"port"`
	Reason   string `json:"reason,omitzero"`  // of a refusal; see Reason…
	Address  string `json:"address,omitzero"` // that was dialled
}

// Closed says what an allowed connection carried.
type Closed struct {
	ID       int64 `json:"id"`
	Sent     int64 `json:"sent"`     // bytes, by the client
	Received int64 `json:"received"` // bytes, by the client
}

// Why a connection is refused.
const (
	ReasonClient     = "client"     // not from an address that the listener serves
	ReasonMethod     = "method"     // not CONNECT
	ReasonRequest    = "request"    // not a request that can be understood
	ReasonToken      = "token"      // without the listener's token
	ReasonHost       = "host"       // not a valid host name
	ReasonPort       = "port"       // not 443
	ReasonDomain     = "domain"     // not among the names of the listener
	ReasonResolve    = "resolve"    // the name has no address
	ReasonAddress    = "address"    // one of its addresses is not public
	ReasonUnreached  = "unreached"  // no server answered
	ReasonServerName = "servername" // the TLS hello names another host, or none
	ReasonHello      = "hello"      // what follows is no TLS hello
	ReasonLimit      = "limit"      // too many connections
)

// The following is for a program that opens the listeners instead of [Proxy], such as Squid.

// ErrGone says that such a program ended before its listeners were open.
var ErrGone = errors.New("it ended before its listeners were open")

// Vacant makes sure that the addresses of the listeners are free. A program may continue
// without a port that it cannot open, and clients would then talk to another program.
func (config ProxyConfig) Vacant(ctx context.Context) error {
	for _, listener := range config.Listeners {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listener.Address)
		if err != nil {
			return fmt.Errorf("listener %q: %w", listener.Name, err)
		}
		_ = l.Close()
	}
	return nil
}

const retryPause = 20 * time.Millisecond

// Opened returns when all listeners accept connections, or gone is closed. It sends nothing.
func (config ProxyConfig) Opened(ctx context.Context, gone <-chan struct{}) error {
	for _, listener := range config.Listeners {
		for {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Address)
			if err == nil {
				_ = conn.Close()
				break
			}
			select {
			case <-time.After(retryPause):
			case <-gone:
				return ErrGone
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}
