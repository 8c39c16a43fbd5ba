package manifest

import (
	"regexp"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// This file holds the rules for names that other programs will interpret:
// packages, commands, domains and environment variables.

func command(s string) (string, string) {
	switch {
	case strings.HasPrefix(s, "-"):
		return wording.Quote(s) + " is not a program", "name the program to start, like npx"
	case strings.ContainsAny(s, " \t") && !strings.ContainsAny(s, `/\`):
		// Nothing splits a command at blanks: there is no shell.
		return wording.Quote(s) + " has blanks in it", "put the arguments into args"
	}
	return toml.NoNUL(s)
}

var (
	toolGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) }) // what all providers accept
)
