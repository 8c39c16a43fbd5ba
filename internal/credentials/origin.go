package credentials

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// Origin returns the scheme, host and port of an address, in the one form in which they are
// compared. A key is for an origin: the server decides about its paths. Plain http is accepted for
// this machine only; a server in a private network is the choice of the user.
func Origin(address string) (string, error) {
	if message, hint := netaddr.BaseURL(address, false, true); message != "" {
		return "", fmt.Errorf("the address of the server %s; %s", message, hint) // it can contain a password
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the address of the server is not a URL")
	}
	return netaddr.Origin(u), nil
}
