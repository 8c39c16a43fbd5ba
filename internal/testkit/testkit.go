// Package testkit holds what tests of several rooms share: real things where the
// machine has them, and fakes that are real programs where it has not. No room
// outside tests imports it.
package testkit
