package workspace

import "testing"

func TestLooksShort(t *testing.T) {
	for name, want := range map[string]bool{"PERSTA~1": true, "ENV~1.LOC": true, "~x": false, "a~": false, "a~b": false} {
		if looksShort(name) != want {
			t.Errorf("looksShort(%q) = %t", name, !want)
		}
	}
}
