package jq

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// A SyntaxError says what is wrong with an expression, and where. Lines and columns count from
// 1; a column is a character.
type SyntaxError struct {
	Line, Column int
	Why          string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Why)
}

// parseError places an error before the token that is wrong, or at the end of the text.
func parseError(text string, err error) error {
	wrong, ok := errors.AsType[*gojq.ParseError](err)
	if !ok {
		return at(text, 0, err.Error())
	}
	offset := min(max(wrong.Offset, 0), len(text))
	if strings.HasSuffix(text[:offset], wrong.Token) {
		offset -= len(wrong.Token)
	}
	why := err.Error()
	if wrong.Token == "" && offset == len(text) {
		why = strings.Replace(why, "unexpected EOF", "the expression is not complete", 1)
	}
	return at(text, offset, why)
}

// compileError looks for the name that an error is about. The compiler knows no positions, so a
// name that a string contains too can be found there.
func compileError(text string, err error) error {
	why := err.Error()
	name := ""
	switch _, undefined, found := strings.Cut(why, " not defined: "); {
	case found:
		name, _, _ = strings.Cut(undefined, "/")
	case strings.HasPrefix(why, "input"):
		name, why = "inputs?", "an expression sees one event, so it has no input"
	case strings.HasPrefix(why, "cannot load module"):
		name, why = "(import|include)", "modules cannot be loaded"
	}
	pattern, bad := regexp.Compile(`(^|[^\w$.])` + strings.ReplaceAll(name, "$", `\$`) + `($|\W)`)
	if name == "" || bad != nil {
		return at(text, 0, why)
	}
	place := pattern.FindStringSubmatchIndex(text)
	if place == nil {
		return at(text, 0, why)
	}
	return at(text, place[3], why) // after what is before the name
}

func at(text string, offset int, why string) error {
	before := text[:offset]
	line := before[strings.LastIndex(before, "\n")+1:]
	return &SyntaxError{strings.Count(before, "\n") + 1, utf8.RuneCountInString(line) + 1, why}
}
