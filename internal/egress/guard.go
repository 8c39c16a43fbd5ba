package egress

import (
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// A guard lets requests to one origin pass, and bounds what comes back.
type guard struct {
	origin  origin
	broken  error // why there is no origin
	maxBody int64
	next    *http.Transport
}

// RoundTrip sends a request if it goes to the origin. All requests pass it, including
// those after a redirect and those to an address that the server named.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.permit(r); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as the contract of a RoundTripper wants
		}
		return nil, err
	}
	// The canonical spelling is sent, so that the name in the certificate and in the Host
	// header is the one that was checked.
	own := r.Clone(r.Context())
	own.URL.Scheme, own.URL.Host, own.Host = g.origin.scheme, g.origin.authority(), ""
	resp, err := g.next.RoundTrip(own)
	if err != nil {
		return nil, err
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		_ = resp.Body.Close()
		return nil, refuse(Encoded, "%s sent a compressed answer, which was not asked for", g.origin.host)
	}
	if !isStream(resp) {
		resp.Body = &boundedBody{body: resp.Body, left: g.maxBody, limit: g.maxBody, host: g.origin.host}
	}
	return resp, nil
}

func (g *guard) permit(r *http.Request) error {
	if g.broken != nil {
		return g.broken
	}
	o, err := originOf(r.URL)
	switch {
	case err != nil:
		return err
	case o != g.origin:
		return refuse(OtherOrigin, "a request to %s was stopped: only %s may be reached", o, g.origin)
	case r.Host != "" && r.Host != r.URL.Host:
		return refuse(OtherOrigin, "a request with another Host header was stopped: only %s may be reached", g.origin)
	}
	return nil
}

// redirect checks a redirect before the client follows it. A POST that becomes a GET is
// another request than the one that was made, and may wait for ever.
func (g *guard) redirect(r *http.Request, via []*http.Request) error {
	o, err := originOf(r.URL)
	switch {
	case err != nil:
		return refuse(BadRedirect, "%s redirects to an address that is not valid", g.origin)
	case o != g.origin:
		return refuse(OtherOrigin, "%s redirects to %s, which is another server; give the URL where it ends, if you trust it", g.origin, o)
	case len(via) > maxRedirects:
		return refuse(BadRedirect, "%s redirects more than %d times", g.origin, maxRedirects)
	case r.Method != via[0].Method:
		return refuse(BadRedirect, "%s redirects a %s so that it would become a %s; give the URL where it ends", g.origin, via[0].Method, r.Method)
	}
	return nil
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] work.
func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

// isStream reports whether an answer is a stream of events, which has no end by design.
// Its reader bounds each event. An error is read as a whole and is never a stream.
func isStream(r *http.Response) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream" && r.StatusCode == http.StatusOK
}

// A boundedBody fails when more than the limit was read.
type boundedBody struct {
	body  io.ReadCloser
	left  int64
	limit int64
	host  string
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more byte shows whether there is more
	}
	n, err := b.body.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		err = refuse(TooLarge, "the answer of %s is larger than %d bytes", b.host, b.limit)
	}
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }

// An origin is the scheme, host and port of a URL in canonical spelling, so that two are
// equal when they lead to the same server.
type origin struct {
	scheme string
	host   string // lower case, no trailing dot, addresses as netip writes them
	port   uint16
}

// originOf reads the origin of a URL. Its errors do not repeat the URL, which may contain
// a password.
func originOf(u *url.URL) (origin, error) {
	if u == nil {
		return origin{}, refuse(BadOrigin, "there is no URL to go to")
	}
	o := origin{scheme: strings.ToLower(u.Scheme)}
	switch o.scheme {
	case "https":
		o.port = 443
	case "http":
		o.port = 80
	default:
		return origin{}, refuse(BadOrigin, "the URL must use https")
	}
	if u.User != nil {
		return origin{}, refuse(BadOrigin, "the URL must not contain a user name or password")
	}
	o.host = strings.ToLower(strings.TrimRight(u.Hostname(), "."))
	if netaddr.HostReach(o.host) == netaddr.NoHost {
		return origin{}, refuse(BadOrigin, "the URL has no valid host")
	}
	if addr, err := netip.ParseAddr(o.host); err == nil {
		o.host = addr.Unmap().String()
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return origin{}, refuse(BadOrigin, "the URL has no valid port")
		}
		o.port = uint16(n)
	}
	return o, nil
}

// authority is host and port as a URL has them.
func (o origin) authority() string {
	if o.scheme == "https" && o.port == 443 || o.scheme == "http" && o.port == 80 {
		if strings.Contains(o.host, ":") {
			return "[" + o.host + "]"
		}
		return o.host
	}
	return net.JoinHostPort(o.host, strconv.Itoa(int(o.port)))
}

func (o origin) String() string { return o.scheme + "://" + o.authority() }

// SameOrigin reports whether two URLs have the same origin, whatever their spelling. A URL
// that is not valid has none.
func SameOrigin(a, b *url.URL) bool {
	x, err := originOf(a)
	if err != nil {
		return false
	}
	y, err := originOf(b)
	return err == nil && x == y
}
