package serve_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// commands runs the commands of all tests that do not close it themselves.
var commands = sandbox.NewSupervisor()

func TestMain(m *testing.M) {
	sandbox.Init()
	code := m.Run()
	if err := commands.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
