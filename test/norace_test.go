//go:build !race

package test

// raced says that the race detector makes every process dear.
const raced = false
