// Command perstack runs AI agents and explains what they did.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/perstack-go/perstack/internal/cli"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox"
)

func main() {
	sandbox.Init() // this process may be its own supervisor
	delayCollection()
	if err := sandbox.Harden(); err != nil { // before any secret is read
		fmt.Fprintln(os.Stderr, "perstack:", err)
		os.Exit(host.ExitFailure)
	}
	os.Exit(cli.Main(context.Background(), host.System(), os.Args[1:]))
}

// delayCollection lets the first garbage collection wait until 16 MB are in use. Go starts
// it at 4 MB, which a run has just before its first request, and then it costs a tenth of
// the time up to there. Afterwards the collector works as always.
func delayCollection() {
	const usual = 100
	if set := debug.SetGCPercent(4 * usual); set != usual { // the user has set GOGC
		debug.SetGCPercent(set)
		return
	}
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
