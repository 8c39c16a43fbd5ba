// Command perstackd serves a registry of Experts.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/daemon"
	"github.com/perstack-go/perstack/internal/sandbox"
)

func main() {
	if err := sandbox.Harden(); err != nil { // before any secret is read
		fmt.Fprintln(os.Stderr, "perstackd:", err)
		os.Exit(host.ExitFailure)
	}
	os.Exit(daemon.Main(context.Background(), host.System(), os.Args[1:]))
}
