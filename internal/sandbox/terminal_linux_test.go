package sandbox

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// A command cannot open the terminal that we run on: it would draw on it, and type into
// the user's shell.
func TestRunHasNoTerminal(t *testing.T) {
	tests := []struct {
		script string
		works  bool
	}{
		{"exec 3</dev/tty && echo opened", false},
		{`exec 3>/dev/tty && printf '\033]0;title\007' >&3`, false},
		{"echo fine", true},
	}
	for _, tt := range tests {
		c := self(t, "run", "sh", "-c", tt.script)
		out, err := testkit.OnTerminal(exec.Command(c.Program, c.Args...))
		if err != nil {
			testkit.Missing(t, err.Error())
		}
		if strings.HasPrefix(string(out), "exit 0, error <nil>") != tt.works || !strings.Contains(string(out), "exit ") {
			t.Errorf("%s: %q", tt.script, out)
		}
	}
}
