// Package testkit holds what tests of several packages share: real things where the
// machine has them, and fakes that are real programs where it has not. No package
// outside tests imports it.
package testkit
