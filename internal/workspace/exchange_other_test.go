//go:build unix && !linux

package workspace_test

import "os"

// exchange swaps two names, with a moment in which one is missing.
func exchange(a, b string) {
	_ = os.Rename(a, a+".held")
	_ = os.Rename(b, a)
	_ = os.Rename(a+".held", b)
}
