package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// What a download may cost.
const (
	maxFetch      = 20 << 20 // bytes
	fetchTimeout  = 30 * time.Second
	maxRedirects  = 3
	maxFetchedURL = 8 << 10
)

// A Fetcher downloads what a user gave by its address, for providers that do not. It has
// no cookies and no keys. It reaches public servers by https, and no others: an address in
// a message may come from anywhere, and what is behind it is shown to a model.
//
// What is decided is what is dialled: a name is looked up once, its addresses are judged,
// and the connection goes to one of them, through a proxy too.
type Fetcher struct {
	// HTTP is the client of the run: its proxy and the authorities that it trusts hold
	// for downloads too. It may be nil.
	HTTP *http.Client

	// ByName has the client's proxy look names up and judge their addresses, as one does
	// that is the only way out: here no name can be looked up.
	ByName bool

	// Tests put limits and a network of their own here.
	maxBytes int
	timeout  time.Duration
	lookUp   func(ctx context.Context, name string) ([]netip.Addr, error)
	connect  func(ctx context.Context, network, address string) (net.Conn, error)
}

// Fetch downloads one image or file. An error says why it cannot be sent, in words for a
// model: it names neither addresses nor proxies.
func (f *Fetcher) Fetch(ctx context.Context, address string) (Medium, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.timeout, fetchTimeout))
	defer cancel()
	u, err := url.Parse(address)
	if err != nil || len(address) > maxFetchedURL {
		return Medium{}, errors.New("its address is not one of the web")
	}
	for range maxRedirects + 1 {
		response, err := f.get(ctx, u)
		if err != nil {
			return Medium{}, plainly(ctx, err)
		}
		next, medium, err := f.take(response, u)
		if closed := response.Body.Close(); err == nil && next == nil {
			err = closed
		}
		switch {
		case err != nil:
			return Medium{}, plainly(ctx, err)
		case next == nil:
			return medium, nil
		}
		u = next
	}
	return Medium{}, fmt.Errorf("its address leads on more than %d times", maxRedirects)
}

// A refusal is an error in words that anyone may read.
type refusal string

func (r refusal) Error() string { return string(r) }

// plainly words an error. What the network says may name proxies and private addresses,
// and a model is told.
func plainly(ctx context.Context, err error) error {
	var known refusal
	var dns *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var proxy *proxyRefusal
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &proxy):
		return refusal("the proxy does not lead to its server")
	case ctx.Err() != nil:
		return refusal("its download took too long")
	case errors.As(err, &dns):
		return refusal("the host of its address is not known")
	case errors.As(err, &untrusted):
		return refusal("the certificate of its server is not trusted")
	}
	return refusal("its server could not be reached, or broke off")
}

// take reads an answer: where it leads on to, or what it holds.
func (f *Fetcher) take(r *http.Response, from *url.URL) (next *url.URL, m Medium, err error) {
	switch r.StatusCode {
	case http.StatusOK:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		next, err := from.Parse(r.Header.Get("Location"))
		if err != nil || r.Header.Get("Location") == "" {
			return nil, m, refusal("its address leads nowhere")
		}
		return next, m, nil
	default:
		return nil, m, refusal(fmt.Sprintf("its server answered %d", r.StatusCode))
	}
	if packing := r.Header.Get("Content-Encoding"); packing != "" && !strings.EqualFold(packing, "identity") {
		return nil, m, refusal("its server sent it compressed, although that was not requested")
	}
	most := cmp.Or(f.maxBytes, maxFetch)
	raw, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	switch {
	case len(raw) > most:
		return nil, m, refusal(fmt.Sprintf("it has more than %d bytes", most))
	case err != nil:
		return nil, m, err
	case len(raw) == 0:
		return nil, m, refusal("it is empty")
	}
	m, err = inline(kindOf(raw, r.Header.Get("Content-Type")), base64.StdEncoding.EncodeToString(raw))
	if err != nil {
		err = refusal(err.Error())
	}
	return nil, m, err
}

// kindOf says what downloaded bytes are. What the server says counts where they do not
// show it, but not for what would show it: a page that asks to log in is no image.
func kindOf(raw []byte, declared string) string {
	if seen := sniff(raw); seen != "" {
		return seen
	}
	kind := mediaType(declared)
	isText := utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0
	switch {
	case isText && strings.HasPrefix(kind, "text/"):
		return kind
	case isText:
		return TypePlain
	case kind == "", kind == TypePDF, strings.HasPrefix(kind, "text/"), Medium{Type: kind}.IsImage():
		return "application/octet-stream"
	}
	return kind
}

// maxAddresses is how many addresses of a name are tried.
const maxAddresses = 4

// checkAddress judges an address as it is written.
func checkAddress(u *url.URL) error {
	reach := netaddr.HostReach(u.Hostname())
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || reach == netaddr.NoHost:
		return refusal("its address is not one of the web")
	case u.User != nil:
		return refusal("its address holds a name or a password")
	case u.Scheme != "https":
		return refusal("its address is not https")
	case reach != netaddr.Public:
		return errPrivate
	}
	return nil
}

const errPrivate = refusal("its address is not a public one")

// decide returns the addresses that may be dialled. One forbidden address forbids the
// name: a server that is both public and private is an attack or a mistake.
func (f *Fetcher) decide(ctx context.Context, u *url.URL) (hosts []string, err error) {
	if err := checkAddress(u); err != nil {
		return nil, err
	}
	host := strings.TrimRight(u.Hostname(), ".")
	if _, err := netip.ParseAddr(host); err == nil || f.ByName {
		return []string{host}, nil
	}
	lookUp := f.lookUp
	if lookUp == nil {
		lookUp = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	// The dot says that the name is complete: the search list of the machine must not
	// turn a public name into one of the local network.
	found, err := lookUp(ctx, host+".")
	if err != nil {
		return nil, err
	}
	for _, addr := range found {
		if netaddr.AddrReach(addr) != netaddr.Public {
			return nil, errPrivate
		}
		hosts = append(hosts, addr.Unmap().WithZone("").String())
	}
	return hosts[:min(len(hosts), maxAddresses)], nil
}
