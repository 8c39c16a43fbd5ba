package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/netaddr"
)

const (
	// maxAnswer bounds everything that a server sends: manifests, definitions, lists, tokens and errors.
	maxAnswer    = 2 << 20
	maxRedirects = 3

	maxTries  = 3
	firstWait = 500 * time.Millisecond
	// longestWait is the longest that a registry can ask to wait before another try is left to the user.
	longestWait = 10 * time.Second
)

// A transport decides about every request for one registry, also redirected ones and those for tokens.
type transport struct {
	source *Source
	base   http.RoundTripper // nil is the usual one
	host   string            // of the registry, as the reference names it
	origin string            // where that is
}

// A refusedError is why a request was not sent.
type refusedError struct{ to, why string }

func (e *refusedError) Error() string {
	return "it asks for a request to " + shown(e.to) + ", " + e.why
}

// checkRedirect follows redirects within the origin. Layers of many registries are elsewhere: what is read
// there is checked by its digest, and is asked for without credentials.
func (t *transport) checkRedirect(r *http.Request, via []*http.Request) error {
	to := netaddr.Origin(r.URL)
	switch first := via[0]; {
	case len(via) > maxRedirects:
		return &refusedError{to, "again and again"}
	case to == t.origin && netaddr.Origin(via[len(via)-1].URL) == t.origin:
		return nil
	case netaddr.Origin(first.URL) != t.origin:
		return &refusedError{to, "from the server that gives tokens"}
	case first.Method != http.MethodGet || !strings.Contains(first.URL.Path, "/blobs/sha256:"):
		return &refusedError{to, "which is another origin"}
	}
	return t.elsewhere(r)
}

// elsewhere checks a request to another origin: it is encrypted, and a server on the internet cannot make
// this machine ask its own network.
func (t *transport) elsewhere(r *http.Request) error {
	to, reach, own := netaddr.Origin(r.URL), netaddr.HostReach(r.URL.Hostname()), netaddr.HostReach(hostname(t.host))
	switch {
	case r.URL.User != nil:
		return &refusedError{to, "with a password in the address"}
	case r.URL.Scheme != "https" && !(r.URL.Scheme == "http" && own == netaddr.Loopback && reach == netaddr.Loopback):
		return &refusedError{to, "which is not encrypted"}
	case reach != netaddr.Public && (reach != own || reach == netaddr.NoHost):
		return &refusedError{to, "which is not public"}
	}
	return nil
}

// RoundTrip sends a request, if it may be sent, with the credentials of where it goes.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Header.Get("Accept-Encoding") == "" {
		r.Header.Set("Accept-Encoding", "identity") // what is unpacked here could be of any size
	}
	if to := netaddr.Origin(r.URL); to != t.origin {
		if err := t.elsewhere(r); err != nil {
			return nil, err
		}
		if r.Method != http.MethodGet {
			return nil, &refusedError{to, "which is another origin"}
		}
		// The registry names its token server. It must not get the login for the registry: it can be anybody's.
		// Nor its own login: the token for it would go to the registry, which could use it there.
		r.Header.Del("Authorization")
	}
	if t.base == nil {
		return nil, errors.New("no transport was handed in")
	}
	response, err := t.send(r)
	if err != nil {
		return nil, err
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		response.Body.Close()
		return nil, &answerError{fmt.Sprintf("the answer is packed with %s, which was not asked for", shown(encoding))}
	}
	response.Body = &limited{in: response.Body, left: maxAnswer}
	return response, nil
}

// An answerError is why an answer is not used.
type answerError struct{ why string }

func (e *answerError) Error() string { return e.why }

// send sends a request, and again if that can help.
func (t *transport) send(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		response, err := t.base.RoundTrip(r)
		pause := firstWait<<(try-1)/2 + rand.N(firstWait<<(try-1)/2)
		if r.Method != http.MethodGet || try == maxTries || r.Context().Err() != nil || !again(response, err, &pause) {
			return response, err
		}
		if response != nil {
			response.Body.Close()
		}
		if err := t.source.options.Wait(r.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// again reports whether another try can succeed, and sets how long to wait before it.
func again(response *http.Response, err error, pause *time.Duration) bool {
	if err != nil {
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		return !untrusted // the certificate will be the same
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return false
	}
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); err == nil {
		*pause = max(*pause, time.Duration(seconds)*time.Second)
	}
	return *pause <= longestWait
}

// wait waits for real.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// limited is a body that ends in an error if it is too long.
type limited struct {
	in   io.ReadCloser
	left int64
}

func errTooLong(most int64) error {
	return &answerError{fmt.Sprintf("the answer has more than %d bytes", most)}
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong(maxAnswer)
	}
	n, err := l.in.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func (l *limited) Close() error { return l.in.Close() }
