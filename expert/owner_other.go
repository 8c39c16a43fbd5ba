//go:build !unix

package expert

import "os"

// isForeign is not known here: owners are no numbers that could be compared.
func isForeign(*os.File) bool { return false }
