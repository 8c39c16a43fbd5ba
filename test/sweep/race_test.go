//go:build race

package sweep

// raced says that the race detector makes every process dear.
const raced = true
