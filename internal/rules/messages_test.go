package rules

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

func avoidedInMessages(t *tree) (found []finding) {
	for _, f := range t.sources(false) {
		if !matches(forTests, f.dir) {
			found = append(found, f.avoided()...)
		}
	}
	return found
}

// avoided looks at the strings of a file with more than one word: help, errors, warnings and
// everything else that is printed. A single word can be a key or a value of data.
func (f *source) avoided() (found []finding) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || len(strings.Fields(text)) < 2 {
			return true
		}
		for _, w := range avoidedWords {
			for _, word := range w.pattern.FindAllString(text, -1) {
				found = append(found, f.at(lit, "%s", w.say(word)))
			}
		}
		return true
	})
	return found
}
