//go:build !linux

package selftest

import (
	"context"
	"errors"
)

// checks has one check that fails: isolation cannot be examined on other systems, and what
// cannot be examined does not count as isolated.
func checks() []check {
	return []check{{"system", func(context.Context, Spec) (string, error) {
		return "", errors.New("a sandbox can be checked on Linux only")
	}}}
}
