//go:build linux && !amd64 && !arm64

package cell

const (
	arch    = 0
	foreign = 0
)

// rules are none: where nobody knows the numbers of the calls, there are no cells.
func rules() []rule { return nil }
