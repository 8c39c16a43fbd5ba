// Package docker tests the promises of the runtime docker, as a user has it: the real
// program, a real Docker daemon, and an internet of its own (package world), with a
// probe inside (package probe) that tries everything.
package docker
