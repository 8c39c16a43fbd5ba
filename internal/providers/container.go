package providers

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/providers/gemini"
)

// A container reaches other machines only through perstack's egress proxy, which connects
// to public servers by name, with https on port 443. This file checks addresses for that.

// CheckReachable reports the addresses that cannot be reached from a container, and what to
// do, as lines of one error. who is what uses them, such as a provider, for the message.
func CheckReachable(who string, urls []string) error {
	var all []error
	for _, address := range urls {
		if why := unreachable(address); why != "" {
			all = append(all, fmt.Errorf("%s at %s %s", who, origin(address), why))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &ChoiceError{[]string{"runtime"}, errors.Join(all...)}
}

const (
	outside = "use the local runtime"
	publish = outside + ", or put it behind https on a public name"
)

// unreachable says why an address cannot be reached from a container; "" if it can.
func unreachable(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "is not an address like https://host.example; correct it"
	}
	switch reach := netaddr.HostReach(u.Hostname()); {
	case reach == netaddr.NoHost:
		return "has a host that cannot be looked up; correct it"
	case origin(address) == gemini.MetadataServer:
		return "is the metadata server of a machine of Google Cloud, and nothing in the container reaches it; " +
			"set " + credentialsVariable + " to a credentials file, or run gcloud auth application-default login"
	case reach == netaddr.Loopback:
		return "is on this machine, and nothing in the container reaches this machine; " + publish
	case reach == netaddr.Private:
		return "is in a private network, and the container reaches public servers only; " + publish
	case u.Scheme != "https":
		return "is not https, and nothing else leaves the container; " + publish
	case u.Port() != "" && u.Port() != "443":
		return "is not at port 443, and nothing in the container reaches another; " + outside + ", or serve it at port 443"
	}
	// Without user and path, which must not be shown.
	if why := netaddr.ProxyRefusal(u.Scheme+"://"+u.Host, false); why != "" {
		return "cannot be reached from the container: " + why + "; give its name, or another one"
	}
	return ""
}

// Hosts are the host names in addresses, each once: what the egress proxy has to allow.
func Hosts(urls []string) []string {
	var hosts []string
	for _, address := range urls {
		if u, err := url.Parse(origin(address)); err == nil && u.Hostname() != "" {
			hosts = append(hosts, u.Hostname())
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// origin is the scheme, host and port of an address, in one spelling.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	host := strings.ToLower(strings.TrimRight(u.Hostname(), "."))
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	usual := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	if port := u.Port(); port != "" && port != usual {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}
