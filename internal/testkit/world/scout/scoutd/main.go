// Command scoutd looks around where it runs. Everything is in package scout.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/internal/testkit/world/scout"
)

func main() {
	if err := scout.Command(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scoutd:", err)
		os.Exit(1)
	}
}
