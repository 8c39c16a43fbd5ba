package rules

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// commandWords are flags and commands of the program perstack.
var commandWords = regexp.MustCompile(`(^|[\s("])(--[a-z][a-z-]*|perstack (run|log|install|docker|inspect|jobs|models|egress|trust)\b)`)

// ofTheCommandLine are the packages that have flags, and those that are made for tests.
const ofTheCommandLine = "cmd/... internal/cli/... bench/... test/... examples/..."

func commandWordsInLibraries(t *tree) (found []finding) {
	for _, f := range t.sources(false) {
		if !matches(forTests, f.dir) && !matches(ofTheCommandLine, f.dir) {
			found = append(found, f.commandWords()...)
		}
	}
	return found
}

// commandWords looks at the strings of a file with more than one word. Descriptions in the
// schema of perstack.toml are documentation of the command line, and left out.
func (f *source) commandWords() (found []finding) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Description" {
				return false
			}
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || len(strings.Fields(text)) < 3 {
			return true
		}
		if word := commandWords.FindString(text); word != "" {
			found = append(found, f.at(lit, "a message names %s, which programs that embed perstack do not have", strings.Trim(word, ` ("`)))
		}
		return true
	})
	return found
}

func internalExamples(t *tree) (found []finding) {
	for _, f := range t.packages["."] {
		if !f.test || !strings.HasPrefix(f.path, "example_") {
			continue
		}
		for _, i := range f.imports {
			if strings.HasPrefix(i.path, module+"/internal/") {
				found = append(found, f.at(f.syntax.Name, "an example imports %s", i.path))
			}
		}
	}
	return found
}
