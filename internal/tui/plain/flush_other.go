//go:build !linux

package plain

import "os"

// flush does nothing here: the time after which an approval counts is what remains.
func flush(*os.File) {}
