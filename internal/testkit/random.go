package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed is the variable with the seed of tests that choose moments at random. A test that fails prints it.
const Seed = "PERSTACK_TEST_SEED"

// Random returns the source of what a test chooses at random. To repeat a failed test, set [Seed] to what it
// printed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(Seed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", Seed, err)
		}
	}
	t.Logf("%s=%d", Seed, seed)
	return rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // nothing here is a secret
}
