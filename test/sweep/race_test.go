//go:build race

package sweep

// raced says that the race detector makes every process slow.
const raced = true
