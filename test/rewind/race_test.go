//go:build unix && race

package rewind

// raced says that the race detector makes every process slow.
const raced = true
