// Command perstack runs AI agents and explains what they did.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/internal/cli"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
)

func main() {
	perstack.Init() // this process may be its own supervisor, or the program of a container
	hostile.Init()  // or the program that an audit attacks with
	process.DelayCollection()
	if err := sandbox.Harden(); err != nil { // before any secret is read
		fmt.Fprintln(os.Stderr, "perstack:", err)
		os.Exit(host.ExitFailure)
	}
	os.Exit(cli.Main(context.Background(), host.System(), os.Args[1:]))
}
