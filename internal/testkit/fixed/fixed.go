// Package fixed is perstack whose names and times can be made the same in each run.
package fixed

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox"
)

// source is set in the environment of a script that wants reproducible runs.
const source = "PERSTACK_TEST_FIXED"

// Main is the program behind sandbox.Init; it returns its exit code.
func Main(args []string) int {
	if err := sandbox.Harden(); err != nil {
		fmt.Fprintln(os.Stderr, "perstack:", err)
		return host.ExitFailure
	}
	h := host.System()
	h.Command = "perstack"
	if h.Getenv(source) != "" {
		h.Source = engine.FixedSource(time.UnixMilli(1_767_000_000_000))
		h.Reproducible = true
	}
	return cli.Main(context.Background(), h, args)
}
