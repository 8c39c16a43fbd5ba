package rules

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// commandWords are flags and commands of the program perstack.
var commandWords = regexp.MustCompile(`(^|[\s("'\x60:,;/])(--[a-z][a-z-]*|perstack (add|audit|completion|demo|docker|doctor|egress|help|inspect|install|jobs|keys|log|login|logout|mcp|models|outdated|publish|registry|rules|run|schema|search|status|tag|trust|unpublish|update|validate|version|view|whoami)\b)`)

// ofTheCommandLine are the packages that have flags, and those that are made for tests.
const ofTheCommandLine = "cmd/... internal/cli/... internal/daemon/... bench/... test/... examples/..."

func commandWordsInLibraries(t *tree) (found []finding) {
	for _, f := range t.sources(false) {
		if !matches(forTests, f.dir) && !matches(ofTheCommandLine, f.dir) {
			found = append(found, f.commandWords()...)
		}
	}
	return found
}

// commandWords looks at the strings of a file that have more than one word. Descriptions in the
// schema of perstack.toml are documentation of the command line, and left out, and so is what
// method more adds to the reference page of that file.
func (f *source) commandWords() (found []finding) {
	documented := make(map[ast.Node]bool)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Description" {
				return false
			}
		}
		if call, ok := n.(*ast.CallExpr); ok && f.dir == "internal/manifest" {
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "more" {
				for _, argument := range call.Args {
					documented[argument] = true
				}
			}
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || documented[lit] {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || len(strings.Fields(text)) < 2 {
			return true
		}
		if word := commandWords.FindString(text); word != "" {
			found = append(found, f.at(lit, "a message names %s, which programs that embed perstack do not have", strings.TrimLeft(word, " (\"'`:,;/")))
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
