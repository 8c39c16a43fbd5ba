//go:build !linux

package cell

import "fmt"

// Available says why there are no cells here.
func Available() error {
	return fmt.Errorf("%w: cells need Linux 6.12 or newer", ErrUnavailable)
}

// Enter fails: there are no cells here.
func (c *Cell) Enter() error { return Available() }

func (c *Cell) confine() error { return Available() }
