// Command evilmcp is an MCP server that misbehaves, for tests: one program, many modes,
// listed by evilmcp --help. Everything is in package evil.
package main

import (
	"context"
	"os"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

func main() {
	os.Exit(evil.Command(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
