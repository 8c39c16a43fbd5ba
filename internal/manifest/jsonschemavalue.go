package manifest

import (
	"math"
	"regexp"
)

// Patterns for rules that the parser does not state as a regular expression. They
// are read by ECMAScript, Rust and Go, so they use what is the same in all three.
const (
	anyURL       = `^[hH][tT][tT][pP][sS]?://`
	secureURL    = `^[hH][tT][tT][pP][sS]://`
	notBlank     = `\S`
	oneHostLabel = `^[a-zA-Z0-9-]{1,63}$`
	// A program: not an option, and blanks only in a path.
	program     = `^[^ \t-][^ \t]*$|^[^-][\s\S]*[/\\]|^[/\\]`
	headerName  = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	headerValue = `^[^\x00-\x08\x0a-\x1f\x7f]*$`
)

// text is the rule length: of low 0 it may be empty, otherwise not even blank.
func text(about string, low, high int) *jsonSchema {
	s := &jsonSchema{Description: about, Type: "string", MinLength: low, MaxLength: high}
	if low > 0 {
		s.Pattern = notBlank
	}
	return s
}

// anyText is a string without a rule.
func anyText(about string) *jsonSchema { return &jsonSchema{Description: about, Type: "string"} }

func pattern(about, expression string, high int) *jsonSchema {
	return &jsonSchema{Description: about, Type: "string", Pattern: expression, MaxLength: high}
}

func grammar(about string, g *regexp.Regexp, high int) *jsonSchema {
	return pattern(about, g.String(), high)
}

func words(about string, list ...string) *jsonSchema {
	return &jsonSchema{Description: about, Type: "string", Enum: list}
}

func number(about string, low int) *jsonSchema {
	return &jsonSchema{Description: about, Type: "integer", Minimum: &low, Maximum: math.MaxInt32}
}

// limit is a whole number from 1.
func limit(about string, high int64) *jsonSchema {
	low := 1
	return &jsonSchema{Description: about, Type: "integer", Minimum: &low, Maximum: high}
}

// money is an amount of US dollars that is more than 0.
func money(about string, high int64) *jsonSchema {
	above := 0
	return &jsonSchema{Description: about, Type: "number", Above: &above, Maximum: high}
}

// duration is a limit on time. That it is not 0 and not years only the parser can tell.
func duration(about string) *jsonSchema { return grammar(about, durationGrammar(), maxDurationText) }

// size is a number of bytes, which may be larger than other numbers.
func size(about string, low int) *jsonSchema {
	return &jsonSchema{Description: about, Type: "integer", Minimum: &low}
}

func flag(about string) *jsonSchema {
	return (&jsonSchema{Description: about, Type: "boolean"}).or(false)
}

func array(about string, limit int, item *jsonSchema) *jsonSchema {
	return &jsonSchema{Description: about, Type: "array", Items: item, MaxItems: limit}
}

// or says what holds when the key is absent.
func (s *jsonSchema) or(value any) *jsonSchema {
	s.Default = value
	return s
}

// hidden marks a spelling of earlier releases.
func (s *jsonSchema) hidden() *jsonSchema {
	s.Taplo = &taploNote{Hidden: true}
	return s
}
