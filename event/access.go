package event

import "strings"

// Why says in words why the proxy refused, or "" if it did not.
func (b ProxyAccess) Why() string {
	switch b.Reason {
	case "method":
		return "only CONNECT is answered, plain http does not pass"
	case "request":
		return "the request cannot be understood"
	case "token":
		return "this gate is for another program"
	case "host":
		return "it is not a plain host name, and addresses do not pass"
	case "port":
		return "only port 443 passes"
	case "domain":
		if b.Gate == engineGate {
			return "it is no host of the provider or of a remote skill"
		}
		return "it is not in allowedDomains"
	case "resolve":
		return "the name has no address"
	case "address":
		return "one of its addresses is not public"
	case "unreached":
		return "nobody answered there"
	case "servername":
		return "the TLS hello names another host"
	case "hello":
		return "what was sent is no TLS"
	case "limit":
		return "too many connections at once"
	}
	return b.Reason
}

// engineGate is the gate of the engine itself.
const engineGate = "engine"

// Who says in words whose gate it was: "" if that is not known.
func (b ProxyAccess) Who() string {
	expert, skill, found := strings.Cut(b.Gate, " ")
	switch {
	case b.Gate == engineGate:
		return "the engine"
	case found && skill == BaseSkill:
		return "commands of " + expert
	case found:
		return "skill " + skill + " of " + expert
	}
	return b.Gate
}
