package process

import (
	"strings"
	"testing"
)

// Only a command that saves says that it does.
func TestStoppingWords(t *testing.T) {
	if got := stopping(false) + quitting(false); strings.Contains(got, "sav") || strings.Contains(got, "record") {
		t.Errorf("install would say %q", got)
	}
	if got := stopping(true); !strings.HasPrefix(got, "stopping and saving") {
		t.Errorf("run would say %q", got)
	}
}
