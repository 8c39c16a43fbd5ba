package netaddr

import (
	"net/url"
	"strings"
)

// NormalURL writes an address in the one form in which addresses are compared: in lower case up to
// the path, without the usual port, a dot after the host, and slashes at the end. The address was
// checked before; what is no URL is returned as it is.
func NormalURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return s
	}
	return Origin(u) + strings.TrimRight(u.Path, "/")
}

// Origin returns the scheme, host and port of an address, as [NormalURL] writes them.
func Origin(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && !(scheme == "https" && port == "443") && !(scheme == "http" && port == "80") {
		host += ":" + port
	}
	return scheme + "://" + host
}
