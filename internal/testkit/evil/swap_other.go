//go:build !linux

package evil

import (
	"errors"
	"os"
)

// exchange swaps two names, with a moment in which one is missing.
func exchange(a, b string) error {
	held := a + ".held"
	return errors.Join(os.Rename(a, held), os.Rename(b, a), os.Rename(held, b))
}
