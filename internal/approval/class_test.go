package approval

import (
	"testing"

	"github.com/perstack-go/perstack/internal/skills/base/prompt"
)

// Every base tool has a class. One that is new counts as a program until it has one.
func TestBaseClass(t *testing.T) {
	for _, name := range prompt.Names() {
		if _, known := classes[name]; known == (name == execTool) {
			t.Errorf("%s: known %t", name, known)
		}
	}
	for tool, want := range map[string]Class{"readTextFile": Reads, "deleteFile": Writes, "exec": Starts, "other": Starts} {
		if got := BaseClass(tool); got != want {
			t.Errorf("%s: %v", tool, got)
		}
	}
}
