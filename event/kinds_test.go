package event

import (
	"slices"
	"testing"
)

func TestTypes(t *testing.T) {
	types := Types()
	if len(types) != len(kindsByName) || !slices.IsSorted(types) {
		t.Errorf("%d types for %d kinds: %q", len(types), len(kindsByName), types)
	}
	if !slices.Contains(types, "startRun") {
		t.Error("startRun is missing")
	}
	types[0] = "changed"
	if Types()[0] == "changed" {
		t.Error("a caller can change the list of another")
	}
}
