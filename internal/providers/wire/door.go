package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// throughDoor leaves a transport one way out. There is nothing else to dial, so whatever
// cannot be dialled is the door.
func throughDoor(t *http.Transport, door *url.URL) {
	dial := t.DialContext
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Scheme != "https" {
			return nil, errPlain // the door could read it, and so could who shares its network
		}
		return door, nil
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, &closedDoor{err}
		}
		return conn, nil
	}
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
		if r.StatusCode == http.StatusOK {
			return nil
		}
		return &proxyRefusal{status: r.StatusCode, door: true, reason: r.Header.Get(reasonHeader)}
	}
}

var errPlain = errors.New("its address is not https, and nothing else goes out of here")

// A closedDoor is the only way out, which does not answer.
type closedDoor struct{ error }

func (c *closedDoor) Unwrap() error { return c.error }

// reasonHeader is where perstack's egress proxy says in one word why it refuses.
const reasonHeader = "Perstack-Reason"

const (
	refusedHint = "the egress proxy does not lead there; its proxyAccess event says why"
	silentHint  = "the egress proxy reached nobody there"
	closedHint  = "the egress proxy does not answer"
	nameHint    = "check the base URL, region, location or resource name"
)

// doorHint is what to do about a refusal at the door.
func doorHint(reason string) string {
	switch reason {
	case "resolve":
		return nameHint
	case "unreached":
		return silentHint
	}
	return refusedHint
}
