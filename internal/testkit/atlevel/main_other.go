//go:build !linux

package atlevel

import (
	"fmt"
	"os"
)

// Main refuses: other systems have no levels.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, Name+": needs Linux")
	return 2
}
