// Command tenantd is a resident of a container, or a neighbour of one. Everything is in
// package tenant.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/internal/testkit/tenant"
)

func main() {
	if err := tenant.Command(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tenantd:", err)
		os.Exit(1)
	}
}
