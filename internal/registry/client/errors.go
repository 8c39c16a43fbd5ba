package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/wording"
)

// A Kind is what went wrong, in a word that programs can compare.
type Kind string

// The kinds of errors.
const (
	Configuration Kind = "configuration"      // nothing was sent
	Unauthorized  Kind = "unauthorized"       // no key, or not a valid one
	NotFound      Kind = "notFound"           //
	Refused       Kind = "refused"            // by the registry
	Unverified    Kind = "verificationFailed" // what was answered cannot be proved, or contradicts what was proved
	Policy        Kind = "refusedByPolicy"    // what was answered is proved, and the user does not accept it
	Network       Kind = "network"            // no answer
	Timeout       Kind = "timeout"            //
	Cancelled     Kind = "cancelled"          // by the caller
	RateLimited   Kind = "rateLimited"        //
	WrongAnswer   Kind = "wrongAnswer"        // not one of this API
	NotVerified   Kind = "notVerifiedHere"    // an offline pin that this machine has never verified
	Storage       Kind = "storage"            // the state directory cannot be read or written
)

// An Error is why a registry could not be used. Its texts can be of the registry: they are cut, and have no
// control characters.
type Error struct {
	Kind      Kind
	Host      string // of the registry
	Registry  string // its address; empty if it has no valid one
	Operation string // such as resolve
	Status    int    // of the answer; 0 if there was none
	Message   string // what was seen, and why that is wrong
	Field     string // of what was published
	Hint      string
	RequestID string
	// RetryAfter is how long the registry asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Evidence is the file with the two checkpoints that do not agree.
	Evidence string
	Err      error // the cause
}

// Error is one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "registry %s: %s", e.Host, e.Operation)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Evidence != "" {
		b.WriteString("; evidence: " + e.Evidence)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error; "" if it is none of this package.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// maxShown is how much of a text of the registry an error repeats.
const maxShown = 500

// shown makes a text of the registry fit for an error.
func shown(text string) string { return wording.Visible(wording.Cut(text, maxShown)) }

// fail makes an error of this registry.
func (c *Client) fail(kind Kind, operation string, err error) *Error {
	return &Error{Kind: kind, Host: c.base.Host, Registry: c.URL(), Operation: operation, Err: err}
}

// failf is [Client.fail] with a message.
func (c *Client) failf(kind Kind, operation, format string, args ...any) *Error {
	return &Error{Kind: kind, Host: c.base.Host, Registry: c.URL(), Operation: operation, Message: fmt.Sprintf(format, args...)}
}
