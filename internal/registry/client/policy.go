package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// A Level is what an Expert must prove at least.
type Level string

// The levels. Without one, the Experts of a registry with a log must be in it, and the original registry is
// accepted.
const (
	Logged Level = "logged" // it is in the log of a registry
	Signed Level = "signed" // and its publisher has signed it
)

// A Require is what the user requires of the Experts of a scope.
type Require struct {
	Level Level
	// Keys are the only ones that can sign, as lines of .pub files. If there is one, every Expert must be signed.
	Keys []string
	// AllowUnsigned accepts a version without a signature although an older one has one.
	AllowUnsigned bool
}

func (r Require) check() error {
	if r.Level != "" && r.Level != Logged && r.Level != Signed {
		return fmt.Errorf("%q cannot be required; use %q or %q", r.Level, Logged, Signed)
	}
	_, err := r.fingerprints()
	return err
}

func (r Require) fingerprints() (all []string, err error) {
	for _, line := range r.Keys {
		key, _, err := signature.ParseKey(line)
		if err != nil {
			return nil, err
		}
		all = append(all, signature.Fingerprint(key))
	}
	return all, nil
}

// scopeOf is the part of a name before the slash; "" if there is none.
func scopeOf(name string) string {
	scope, _, ok := strings.Cut(name, "/")
	if !ok {
		return ""
	}
	return scope
}

// accept checks an Expert against what the user requires. seen is what is known of its name, with what the
// same answer proves.
func (c *Client) accept(operation string, e *Expert, seen trust.Name) error {
	require := c.options.Policies[scopeOf(e.Definition.Name)]
	refuse := func(format string, args ...any) error {
		return c.failf(Policy, operation, "%s %s", e.Key, fmt.Sprintf(format, args...))
	}
	switch {
	case e.Unverified && require.Level != "":
		return refuse("is of a registry without a log, and %q is required", require.Level)
	case e.Signer == "" && (require.Level == Signed || len(require.Keys) > 0):
		return refuse("has no signature, and one is required")
	case e.Signer == "" && !require.AllowUnsigned && e.Index < seen.Signed-1:
		// It is older than the first signature that this machine knows.
	case e.Signer == "" && !require.AllowUnsigned && seen.Signed > 0:
		return refuse("has no signature, although the older version %s has one", seen.Version)
	}
	if allowed, err := require.fingerprints(); err != nil || len(allowed) > 0 && !slices.Contains(allowed, e.Signer) {
		return refuse("is signed by %s, which is none of the keys that are required", e.Signer)
	}
	return nil
}
