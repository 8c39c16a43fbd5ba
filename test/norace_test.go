//go:build !race

package test

// raced says that the race detector makes every process slow.
const raced = false
