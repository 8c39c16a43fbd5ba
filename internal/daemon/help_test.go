package daemon

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The help of every command has an example, which begins with the command or one below it.
func TestExamples(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if path := cmd.CommandPath(); !strings.Contains(cmd.Example, "  "+path) {
			t.Errorf("%s has no example", path)
		}
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check(newRoot(newHost(t, io.Discard, io.Discard)))
}
