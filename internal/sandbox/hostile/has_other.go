//go:build !linux

package hostile

import "errors"

// has is about Linux containers.
func has(string) error { return errors.ErrUnsupported }
