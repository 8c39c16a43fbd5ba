//go:build root && linux

package test

import "testing"

// Programs of root work at level full, too.
func TestRootFullPrograms(t *testing.T) { fullPrograms(t, "git", "npm", "make", "terminal") }

// Root owns files of the kernel, and programs of root attack their job in vain, too.
func TestRootFullAttacks(t *testing.T) { fullAttacks(t, "full", "landlock") }

// Nothing of a sandbox of root is left, either.
func TestRootFullKilled(t *testing.T) { fullKilled(t) }
