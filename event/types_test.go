package event

import (
	"slices"
	"testing"
)

func TestTypes(t *testing.T) {
	types := Types()
	if len(types) != len(codecs) || !slices.IsSorted(types) {
		t.Errorf("%d types for %d codecs: %q", len(types), len(codecs), types)
	}
	if !slices.Contains(types, StartRun{}.Type()) {
		t.Error("startRun is missing")
	}
	types[0] = "changed"
	if Types()[0] == "changed" {
		t.Error("a caller can change the list of another")
	}
}
