package manifest

import (
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// references accepts a value whose variables are all declared. What begins like a
// variable and is none is refused too: a default or a command in it would not be
// expanded, and the server would get the text.
func references(declared []string) toml.Rule {
	return func(s string) (string, string) {
		names, wellFormed := expert.Header{Value: s}.Variables()
		for _, name := range names {
			if !slices.Contains(declared, name) {
				return "uses " + wording.Quote(name) + ", which is not in requiredEnv", "add it there"
			}
		}
		if !wellFormed {
			return "has ${ without a variable name and }", "write ${NAME}; nothing else is expanded"
		}
		return "", ""
	}
}
