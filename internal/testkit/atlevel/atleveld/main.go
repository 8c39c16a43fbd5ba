// Command atleveld runs a program at a sandbox level; see package atlevel.
package main

import (
	"os"

	"github.com/perstack-go/perstack/internal/testkit/atlevel"
)

func main() { os.Exit(atlevel.Main(os.Args)) }
