// Command perstack is perstack for tests, built as users have it. A script that sets
// PERSTACK_TEST_FIXED gets the same names and times in each run.
package main

import (
	"os"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/testkit/fixed"
)

func main() {
	sandbox.Init() // this process may be its own supervisor
	hostile.Init() // or the program that an audit attacks with
	os.Exit(fixed.Main(os.Args[1:]))
}
