// Command attackd is a victim of a container, or a attacker of one. Everything is in
// package attack.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/internal/testkit/attack"
)

func main() {
	if err := attack.Command(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "attackd:", err)
		os.Exit(1)
	}
}
