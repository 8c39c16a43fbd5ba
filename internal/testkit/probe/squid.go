package probe

import (
	"slices"
	"strings"
)

// Why Squid does otherwise than our own proxy.
const (
	whyName     = "it does not look into the tunnel: TLS may name another server"
	whyToken    = "it checks no token: only the sandbox protects the listener"
	whyBody     = "it takes the body for the first bytes of the tunnel"
	whySpelling = "it reads ports and names more generously; whom it reaches is the allowed host"
	whyRebind   = "it keeps the first answer, whose address is public"
)

// withSquid is what rows want of Squid.
func withSquid(rows []Row) []Row {
	generous := strings.Fields("spell-brackets spell-empty-port spell-long-port spell-named-port spell-no-port spell-signed-port spell-two-dots spell-two-ports spell-user-port")
	for i := range rows {
		r := &rows[i]
		switch {
		case strings.HasPrefix(r.ID, "token-"):
			r.Want, r.Why = []string{Reached}, whyToken
		case r.ID == "hello-silent": // as with ours, nothing comes back
			r.Why = ""
		case strings.HasPrefix(r.ID, "hello-") && r.Want[0] == Cut:
			r.Want, r.Why = []string{Reached, Cut}, whyName
		case r.ID == "body" || r.ID == "chunked":
			r.Want, r.Why = []string{Cut}, whyBody
		case slices.Contains(generous, r.ID):
			r.Want, r.Why = []string{Reached}, whySpelling
		case r.ID == "rebind":
			r.Want, r.Why = []string{Reached}, whyRebind
		}
	}
	return rows
}
