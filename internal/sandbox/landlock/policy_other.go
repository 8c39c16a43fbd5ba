//go:build !linux

package landlock

import "fmt"

// Available says why policies cannot be enforced here.
func Available() error {
	return fmt.Errorf("%w: isolating skills needs Linux 6.7 or newer", ErrUnavailable)
}

// KeepsApart says why programs cannot be kept apart here.
func KeepsApart() error { return Available() }

func (p *Policy) restrictAccess() error { return Available() }
