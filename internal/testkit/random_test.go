package testkit

import "testing"

// The same seed gives the same choices.
func TestRandom(t *testing.T) {
	t.Setenv(Seed, "42")
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a != b {
		t.Errorf("%d and %d", a, b)
	}
}
