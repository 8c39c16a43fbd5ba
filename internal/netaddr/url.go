package netaddr

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/wording"
)

// splitURL reads a web address. The message says what is wrong with it; the
// text itself is not repeated, since it may hold a password.
func splitURL(s string) (u *url.URL, host Reach, message, hint string) {
	const example = "write it like https://host.example/path"
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" || strings.Contains(s, `\`):
		return nil, NoHost, "is not a URL", example
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, NoHost, "must use https", example
	case u.User != nil:
		return nil, NoHost, "must not contain a user name or password", "use headers or environment variables for keys"
	}
	host = HostReach(u.Hostname())
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			host = NoHost
		}
	}
	if host == NoHost {
		return nil, NoHost, "has no valid host", example
	}
	return u, host, "", ""
}

// BaseURL says what is wrong with the address of a provider: it is https, or plain http to
// this machine, where local gateways and ollama listen. A provider that is sent no key may
// be reached by plain http in a private network too, if allowPrivate says that the network
// is meant: few who run one there have a certificate for it.
func BaseURL(s string, keyless, allowPrivate bool) (message, hint string) {
	u, host, message, hint := splitURL(s)
	switch {
	case message != "":
		return message, hint
	case u.Scheme == "http" && host == Private && keyless:
		if !allowPrivate {
			return "is a private address", "set allowPrivateEndpoint = true beside it if that is what you want; nothing is encrypted on the way there"
		}
	case u.Scheme == "http" && host != Loopback:
		if keyless {
			return "must use https", "plain http is accepted for localhost and, with allowPrivateEndpoint = true, in a private network"
		}
		return "must use https", "plain http is accepted for localhost only"
	case host == Private && !allowPrivate:
		return "is a private address", "set allowPrivateEndpoint = true beside it if that is what you want"
	}
	return "", ""
}

// CheckBaseURL says what is wrong with the address of a provider that does not come from
// the file, by the rule that holds there but for plain http, which stays on this machine.
// The error never repeats the address.
func CheckBaseURL(s string, allowPrivate bool) error {
	return asError(BaseURL(s, false, allowPrivate))
}

func asError(message, hint string) error {
	if message == "" {
		return nil
	}
	return errors.New(message + "; " + hint)
}

// CheckPlainURL is CheckBaseURL for what the user says of a server that is sent no key:
// it may be anywhere, and plain http is accepted.
func CheckPlainURL(s string) error {
	_, _, message, hint := splitURL(s)
	return asError(message, hint)
}

// RegistryURL says what is wrong with the address of a registry, to which keys are sent.
func RegistryURL(s string) (message, hint string) {
	u, _, message, hint := splitURL(s)
	if message == "" && u.Scheme != "https" {
		return "must use https", "write it like https://registry.example"
	}
	return message, hint
}

// EndpointURL says what is wrong with the address of a remote skill, which may come from an
// untrusted file.
func EndpointURL(s string, allowPrivate bool) (message, hint string) {
	u, host, message, hint := splitURL(s)
	switch {
	case message != "":
		return "must be a public HTTPS URL: it " + message, hint
	case host != Public && !allowPrivate:
		return "must be a public HTTPS URL: its host is private", "set allowPrivateEndpoint = true in the skill if the server is yours"
	case u.Scheme == "http" && host != Loopback:
		return "must be a public HTTPS URL: it uses plain http", "plain http is accepted for localhost only, with allowPrivateEndpoint = true"
	}
	return "", ""
}

// CheckHostLabel says what is wrong with a text that becomes part of a host name, such as
// the region of bedrock, wherever it comes from. Anything else than a label could lead
// the request, and its key, to another host.
func CheckHostLabel(s string) error { return asError(HostLabel(s)) }

// HostLabel accepts what becomes one label of a host name.
func HostLabel(s string) (message, hint string) {
	ok := len(s) >= 1 && len(s) <= 63 && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
	})
	if !ok {
		return "becomes part of a host name", "use letters, digits and - only"
	}
	return "", ""
}

// DomainPattern accepts a host name, or *. before one for its subdomains, unless anybody can
// have such a subdomain.
func DomainPattern(s string) (message, hint string) {
	for label := range strings.SplitSeq(strings.ToLower(s), ".") {
		if strings.HasPrefix(label, "xn--") {
			return "punycode domains (xn--) are not allowed", "they can look like another name; use an ASCII name"
		}
	}
	for _, c := range s {
		if c > 127 {
			return "domains with other characters than ASCII are not allowed", "they can look like another name"
		}
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	if _, number := legacyNumber(strings.ToLower(last)); last != "" && (number || strings.Trim(last, "0123456789") == "") {
		return "IP addresses are not allowed: " + wording.Quote(s), "name the host"
	}
	if len(s) > 253 || !hostGrammar().MatchString(s) {
		return "invalid domain pattern " + wording.Quote(s), "write api.example.com or *.example.com, without scheme, port or path"
	}
	if name, wild := strings.CutPrefix(s, "*."); wild {
		if err := CheckWildcard(name); err != nil {
			return wording.Quote(s) + " allows too much: " + err.Error(), "name the hosts, or the domain of one owner, like *.example.com"
		}
	}
	return "", ""
}

// ProxyRefusal says why the proxy of the runtime docker does not connect to an address: ""
// if it does. It makes TLS connections to port 443 of public hosts, and no others.
func ProxyRefusal(address string, allowPrivate bool) string {
	u, host, message, _ := splitURL(address)
	switch {
	case message != "":
		return "it " + message
	case host == Loopback:
		return "in a container, this machine is the container itself"
	case host == Private:
		return "its proxy does not connect to private addresses"
	case u.Scheme != "https":
		return "its proxy does not carry plain http"
	case u.Port() != "" && u.Port() != "443":
		return "its proxy connects to port 443 only"
	case allowPrivate:
		return "its proxy does not connect to private addresses, which allowPrivateEndpoint permits"
	case isAddress(u.Hostname()):
		return "its proxy connects to names, not to addresses"
	}
	// The proxy takes no other names than the file does, whose rule is the same; one that
	// it does not take would keep it from starting.
	if message, _ := DomainPattern(strings.TrimSuffix(u.Hostname(), ".")); message != "" {
		return "its proxy connects only to names of letters, digits and hyphens, none of which begins with xn--"
	}
	return ""
}

// isAddress reports whether a host is an address, in whatever notation.
func isAddress(host string) bool {
	if strings.Contains(host, ":") {
		return true
	}
	labels := strings.Split(strings.ToLower(strings.TrimRight(host, ".")), ".")
	_, is := legacyIPv4(labels)
	return is
}

// HostPattern is the grammar of what [DomainPattern] accepts. It knows no public suffixes.
const (
	hostLabelRest = `([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?` // behind its first character
	HostPattern   = `^(\*\.)?([a-zA-Z0-9]` + hostLabelRest + `\.)*[a-zA-Z]` + hostLabelRest + `$`
)

var hostGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(HostPattern) })
