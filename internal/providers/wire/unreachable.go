package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// Unreachable says what to do about a request that got no answer, and whether it would get
// none the next time either: a wrong setting does not pass, and a run that waits for it
// keeps its user waiting. The hint is empty if there is nothing to say.
func Unreachable(err error) (hint string, final bool) {
	var dns *net.DNSError
	var op *net.OpError
	var proxy *proxyRefusal
	var down *proxyDown
	if hint := certificateHint(err); hint != "" {
		return hint, true
	}
	switch {
	case errors.Is(err, errPlain):
		return "give it an https address", true
	case errors.As(err, &down):
		return closedHint, isRefused(err)
	case errors.As(err, &proxy) && proxy.egress:
		return egressHint(proxy.reason), !passes(proxy.status)
	case errors.As(err, &proxy):
		return proxyHint, !passes(proxy.status)
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return proxyHint, isRefused(err)
	case errors.As(err, &dns):
		// A laptop that wakes up has no network for a while, and many resolvers then say
		// that there is no such name. The run must not be lost.
		return "check the network connection; if it works, " + nameHint, false
	}
	return "", false
}

const proxyHint = "check the proxy, which PERSTACK_PROXY_URL or HTTPS_PROXY names"

// certificateHint is what to do about a server that does not prove to be who it should be;
// empty if that is not what is wrong.
func certificateHint(err error) string {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.As(err, &host):
		return "check the base URL: the server there has a certificate for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "check the clock of this machine, or ask the operator of the server to renew its certificate"
	case errors.As(err, &authority), errors.As(err, &invalid), errors.As(err, &unverified):
		return "set PERSTACK_CA_CERTS to a file with your company's certificates"
	}
	return ""
}

func isRefused(err error) bool {
	const onWindows = syscall.Errno(10061) // what package syscall calls so is another number there
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, onWindows)
}

// A proxyRefusal is the answer of a proxy that does not connect us.
type proxyRefusal struct {
	status int
	egress bool   // it is perstack's egress proxy
	reason string // why, in one word of the egress proxy
}

func (p *proxyRefusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the proxy answered %d %s", p.status, http.StatusText(p.status)))
}

// answer keeps the status of a proxy's refusal, of which net/http tells the words alone.
func (p proxyRefusal) answer(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	p.status, p.reason = r.StatusCode, r.Header.Get(reasonHeader)
	return &p
}
