package narrate

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// maxRefusals bounds how many refusals are told apart: a program may make up hosts.
const maxRefusals = 1000

// A refusal is what makes two of them the same.
type refusal struct{ listener, host, reason string }

// network shows a decision of the proxy. A refusal may be an attack, or a host that
// allowedDomains lacks; a program that tries again and again is counted.
func (b *batch) network(body event.ProxyAccess) {
	host := fmt.Sprintf("%s:%d", body.Domain, body.Port)
	who, why := Asker(body), Refusal(body)
	r := Row{Kind: Network, Label: "Network", Summary: body.Action + " " + host, Times: 1, Minor: true, Body: text(who)}
	if body.Action != "allowed" {
		r.State, r.Minor, r.Times = Failed, false, b.narrator.refused(refusal{body.Listener, host, body.Reason})
		if who != "" && why != "" {
			why = who + ": " + why
		}
		r.Body = text(why)
	}
	b.add(r)
}

// refused counts a refusal.
func (n *Narrator) refused(r refusal) int {
	if len(n.refusals) >= maxRefusals && n.refusals[r] == 0 {
		clear(n.refusals)
	}
	n.refusals[r]++
	return n.refusals[r]
}

// engineListener is the listener of the engine itself.
const engineListener = "engine"

// Refusal says in words why the proxy refused a connection, or "" if it did not.
func Refusal(b event.ProxyAccess) string {
	switch b.Reason {
	case "method":
		return "only CONNECT is answered, plain http does not pass"
	case "request":
		return "the request cannot be understood"
	case "token":
		return "this listener is for another program"
	case "host":
		return "it is not a plain host name, and addresses do not pass"
	case "port":
		return "only port 443 passes"
	case "domain":
		if b.Listener == engineListener {
			return "it is no host of the provider or of a remote skill"
		}
		return "it is not in allowedDomains"
	case "resolve":
		return "the name has no address"
	case "address":
		return "one of its addresses is not public"
	case "unreached":
		return "no connection was made"
	case "servername":
		return "the TLS hello names another host"
	case "hello":
		return "the data sent is not TLS"
	case "limit":
		return "too many connections at once"
	}
	return b.Reason
}

// Asker says in words who wanted the connection: "" if that is not known.
func Asker(b event.ProxyAccess) string {
	expert, skill, found := strings.Cut(b.Listener, " ")
	switch {
	case b.Listener == engineListener:
		return "the engine"
	case found && skill == event.BaseSkill:
		return "commands of " + expert
	case found:
		return "skill " + skill + " of " + expert
	}
	return b.Listener
}
