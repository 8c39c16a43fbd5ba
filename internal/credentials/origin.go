package credentials

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// Origin returns the scheme, host and port of an address, in the one form in which they are
// compared. A key is for an origin: the server decides about its paths. Plain http is accepted for
// this machine only.
func Origin(address string) (string, error) {
	if message, hint := netaddr.BaseURL(address, false, false); message != "" {
		return "", fmt.Errorf("the address of the server %s; %s", message, hint) // it can contain a password
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the address of the server is not a URL")
	}
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	scheme := strings.ToLower(u.Scheme)
	if port == map[string]string{"https": "443", "http": "80"}[scheme] {
		port = ""
	}
	switch {
	case port != "":
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return scheme + "://" + host, nil
}
