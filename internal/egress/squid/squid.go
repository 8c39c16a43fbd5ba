// Package squid makes Squid do what [egress.Proxy] does, as far as it can: it writes
// Squid's configuration from the same listeners, and reads decisions out of its log.
//
// The same tables say what a list allows and which addresses are public. Squid enforces
// them: it compares the names, looks them up and dials. docs/egress.md lists what it cannot
// do: it has no tokens, does not check the TLS hello, and reports an allowed connection only
// when it ends. The package starts nothing; the command perstack egress --squid does.
//
// Nothing that a user writes can become a directive: only names that [egress.ParseHost]
// returned, addresses and numbers are written. Start reading at [Config], then [Log].
package squid

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/netaddr"
)

// maxLine bounds a line of the configuration. Squid reads longer ones in pieces, and a
// piece could begin with anything.
const maxLine = 1000

// maxListeners is how many ports Squid opens. It leaves out the rest, with a warning.
const maxListeners = 128

// Config returns the text of squid.conf for listeners. The same listeners give the same text.
// dns are the servers to ask; nil means those of the machine.
func Config(policy egress.ProxyConfig, dns []netip.Addr) (string, error) {
	if err := check(policy); err != nil {
		return "", err
	}
	c := &config{}
	c.ports(policy)
	if err := c.names(policy); err != nil {
		return "", err
	}
	c.addresses()
	c.rules(policy)
	c.limits(policy)
	c.rest(dns)
	return c.text()
}

// check refuses a policy that Squid cannot enforce completely.
func check(policy egress.ProxyConfig) error {
	if err := policy.Check(); err != nil {
		return err
	}
	if policy.Upstream != "" {
		return errors.New("squid cannot use an upstream proxy here, since the addresses that it reaches could not be checked; use the builtin proxy for an upstream")
	}
	if len(policy.Listeners) > maxListeners {
		return fmt.Errorf("squid opens %d listeners at most, and these are %d; use the builtin proxy", maxListeners, len(policy.Listeners))
	}
	taken := map[uint16]bool{}
	for _, listener := range policy.Listeners {
		switch port := address(listener).Port(); {
		case listener.Token != "":
			return fmt.Errorf("listener %q has a token, and Squid asks for none; use the builtin proxy", listener.Name)
		case port == 0:
			return fmt.Errorf("listener %q has no port, and Squid does not choose one; name one, like 127.0.0.1:3128", listener.Name)
		case taken[port]:
			return fmt.Errorf("listener %q has the port of another listener, and Squid's log tells listeners by their ports", listener.Name)
		default:
			taken[port] = true
		}
	}
	return nil
}

// address is where a listener listens. The policy was checked.
func address(listener egress.Listener) netip.AddrPort {
	at, _ := netip.ParseAddrPort(listener.Address)
	return at
}

// A config is squid.conf while it is written.
type config struct{ lines []string }

func (c *config) add(words ...string) { c.lines = append(c.lines, strings.Join(words, " ")) }

func (c *config) text() (string, error) {
	for _, line := range c.lines {
		if len(line) > maxLine || strings.ContainsAny(line, "\r\n\\\"'#") && !strings.HasPrefix(line, "acl ") && !strings.HasPrefix(line, "logformat ") {
			return "", fmt.Errorf("a line of squid.conf would not be one: %.60q", line)
		}
	}
	return strings.Join(c.lines, "\n") + "\n", nil
}

// ports opens a port for each listener. Rules refer to it by name.
func (c *config) ports(policy egress.ProxyConfig) {
	for i, listener := range policy.Listeners {
		c.add("http_port", address(listener).String(), "name="+listenerName(i))
		c.add("acl", listenerName(i), "myportname", listenerName(i))
		for _, block := range listener.Clients {
			c.add("acl", clients(i), "src", block.String())
		}
	}
}

func listenerName(i int) string { return "listener" + strconv.Itoa(i) }

func list(i int) string { return "list" + strconv.Itoa(i) }

func clients(i int) string { return "clients" + strconv.Itoa(i) }

// named is every name that a list could hold: labels of letters, digits and hyphens, the
// last beginning with a letter, which no notation of an address does.
const (
	label = `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`
	named = `^(` + label + `\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`
)

// match compares the name of a request. Squid has folded its case and taken a trailing
// dot off. With -n it looks nothing up: an address is compared as the text it is. A
// dstdomain would be shorter, but of two entries that overlap it makes a fatal error, and
// its .example.com is also example.com.
func (c *config) match(acl, pattern string) { c.add("acl", acl, "dstdom_regex -n -i", pattern) }

func (c *config) names(policy egress.ProxyConfig) error {
	c.match("named", named)
	c.match("punycode", `(^|\.)xn--`)
	c.match("long", `^.{254}`)
	for i, listener := range policy.Listeners {
		for _, pattern := range listener.Allow {
			name, wild := strings.CutPrefix(pattern, "*.")
			host, err := egress.ParseHost(name)
			if err != nil {
				return fmt.Errorf("listener %q: %w", listener.Name, err)
			}
			exact := strings.ReplaceAll(host, ".", `\.`)
			expression, example := "^"+exact+"$", host
			if wild {
				expression, example = `^(`+label+`\.)+`+exact+"$", "any."+host
			}
			c.match(list(i), expression)
			if netaddr.HostReach(example) != netaddr.Public {
				c.match("private", expression) // it may be on a list, but leads nowhere
			}
		}
	}
	c.match("private", `^localhost$`) // a list needs one entry
	return nil
}

// addresses names the blocks that are never dialled. If one of the addresses of a name is
// in one of them, the name is refused.
func (c *config) addresses() {
	for _, block := range netaddr.NotPublic() {
		c.add("acl", "nowhere", "dst", block.String())
	}
}

// rules decide, the first that matches. Rules that need no look-up come first: a query
// is itself a message to the name server. The last word of a rule always matches, and
// notes the reason for the log.
func (c *config) rules(policy egress.ProxyConfig) {
	c.add("acl", "connect", "method", "CONNECT")
	c.add("acl", "tls", "port", "443")
	for _, reason := range []string{egress.ReasonClient, egress.ReasonMethod, egress.ReasonHost, egress.ReasonPort, egress.ReasonDomain, egress.ReasonAddress} {
		c.add("acl", because(reason), "annotate_transaction", note+"="+reason)
	}
	deny := func(reason string, when ...string) {
		c.add("http_access deny", strings.Join(when, " "), because(reason))
	}
	for i, listener := range policy.Listeners {
		if len(listener.Clients) > 0 {
			deny(egress.ReasonClient, listenerName(i), "!"+clients(i))
		}
	}
	deny(egress.ReasonMethod, "!connect")
	deny(egress.ReasonHost, "!named")
	deny(egress.ReasonHost, "punycode")
	deny(egress.ReasonHost, "long")
	deny(egress.ReasonPort, "!tls")
	for i, listener := range policy.Listeners {
		if len(listener.Allow) == 0 {
			deny(egress.ReasonDomain, listenerName(i))
			continue
		}
		deny(egress.ReasonDomain, listenerName(i), "!"+list(i))
	}
	deny(egress.ReasonAddress, "private")
	deny(egress.ReasonAddress, "nowhere")
	for i, listener := range policy.Listeners {
		if len(listener.Allow) > 0 {
			c.add("http_access allow", listenerName(i), list(i), "connect", "tls", "named")
		}
	}
	c.add("http_access deny all")
}

func because(reason string) string { return "because_" + reason }
