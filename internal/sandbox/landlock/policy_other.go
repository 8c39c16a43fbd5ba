//go:build !linux

package landlock

import "fmt"

// Available says why policies cannot be enforced here.
func Available() error {
	return fmt.Errorf("%w: isolating skills needs Linux 6.12 or newer", ErrUnavailable)
}

func (p *Policy) restrictAccess() error { return Available() }
