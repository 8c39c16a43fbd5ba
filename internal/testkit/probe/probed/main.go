// Command probed tries to get out of the container that it runs in. Everything is in
// package probe.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/internal/testkit/probe"
)

func main() {
	if err := probe.Command(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probed:", err)
		os.Exit(1)
	}
}
