//go:build !unix

package host

import (
	"os"

	"golang.org/x/term"
)

// size returns that of a terminal.
func size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
