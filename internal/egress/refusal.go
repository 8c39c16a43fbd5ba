package egress

import "fmt"

// A Refusal is what this package does not do. Its text names hosts and addresses, never
// paths or queries, which may hold keys.
type Refusal struct {
	Kind Kind
	Text string
}

// Kind says what was refused.
type Kind int

// What is refused, and why.
const (
	BadOrigin      Kind = iota // the policy has no origin that can be spoken to
	OtherOrigin                // a request or a redirect to somewhere else
	BadRedirect                // a redirect that goes in circles, or makes another request
	PrivateAddress             // an address that is not public, without permission
	PlainText                  // http to an address that is not this machine
	TooLarge                   // an answer above the limit
	Encoded                    // an answer that is compressed, though none was asked for
)

func (r *Refusal) Error() string { return r.Text }

func refuse(kind Kind, format string, args ...any) *Refusal {
	return &Refusal{kind, fmt.Sprintf(format, args...)}
}
