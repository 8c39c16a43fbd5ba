package narrate

import (
	"cmp"
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
	if body.Domain == "" {
		host = "a connection" // it asked for nothing that was understood
	}
	who, why := Asker(body), Refusal(body)
	r := Row{Kind: Network, Label: "Network", Summary: body.Action + " " + host, Times: 1, Minor: true, Body: text(who)}
	if body.Action != "allowed" {
		r.State, r.Minor, r.Times = Failed, false, b.narrator.refused(refusal{body.Listener, host, body.Reason})
		if who != "" && why != "" {
			why = who + ": " + why
		}
		r.Body = text(why)
		if b.narrator.local != nil && body.Listener != engineListener {
			r.Label = SandboxLabel
			b.blocked(&r, body, host)
		}
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

var refusals = map[string]string{
	"client":     "it came from outside of the internal network",
	"method":     "only CONNECT is answered, plain http does not pass",
	"request":    "the request cannot be understood",
	"token":      "this listener is for another program",
	"host":       "it is not a plain host name, and addresses do not pass",
	"port":       "only port 443 passes",
	"domain":     "it is not in allowedDomains",
	"resolve":    "the name has no address",
	"address":    "one of its addresses is not public",
	"unreached":  "no connection was made",
	"servername": "the TLS hello names another host",
	"hello":      "the data sent is not TLS",
	"limit":      "too many connections at once",
}

// Refusal says in words why the proxy refused a connection, or "" if it did not.
func Refusal(b event.ProxyAccess) string {
	if b.Reason == "domain" && b.Listener == engineListener {
		return "it is not a host of the provider or of a remote skill"
	}
	return cmp.Or(refusals[b.Reason], b.Reason)
}

// Asker says in words who wanted the connection: "" if that is not known.
func Asker(b event.ProxyAccess) string {
	expert, skill, found := strings.Cut(b.Listener, " ")
	switch {
	case b.Reason == "client":
		return "" // none of the run
	case b.Listener == engineListener:
		return "the engine"
	case found && skill == event.BaseSkill:
		return "commands of " + expert
	case found:
		return "skill " + skill + " of " + expert
	}
	return b.Listener
}
