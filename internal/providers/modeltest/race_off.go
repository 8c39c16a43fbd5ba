//go:build !race

package modeltest

// races says that the race detector looks on.
const races = false
