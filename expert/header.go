package expert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Header is sent to a remote skill. Value may name variables as ${NAME}; each of them
// is one of RequiredEnv. Nothing else in it is expanded.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"-"` // can hold a key, so it is no part of a Spec
}

// ResolvedHeaders are the headers of a remote skill with the values of their variables.
// Errors name header and variable, and never show a value.
func (s *Skill) ResolvedHeaders(get func(name string) string) (map[string]string, error) {
	out := make(map[string]string, len(s.Headers))
	var errs []error
	for _, h := range s.Headers {
		value, err := h.resolve(s.RequiredEnv, get)
		if err != nil {
			errs = append(errs, fmt.Errorf("skill %s: header %s: %w", quote(s.Name), h.Name, err))
			continue
		}
		out[h.Name] = value
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

func (h Header) resolve(declared []string, get func(name string) string) (string, error) {
	var b strings.Builder
	for part := range h.parts() {
		switch {
		case part.variable == "":
			b.WriteString(part.text)
		case part.broken || !slices.Contains(declared, part.variable):
			// Parse lets no such header through. Whoever makes one by hand must not
			// get at variables that nobody agreed to.
			return "", fmt.Errorf("%s is not in requiredEnv", quote(part.variable))
		default:
			value := get(part.variable)
			if value == "" {
				return "", fmt.Errorf("%s is not set (declared in requiredEnv); set it in the environment or in .env", part.variable)
			}
			if !ValidHeaderValue(value) {
				return "", fmt.Errorf("the value of %s has a line break or another control character; remove it", part.variable)
			}
			b.WriteString(value)
		}
	}
	value := b.String()
	if !ValidHeaderValue(value) {
		return "", errors.New("has a control character in its value; remove it")
	}
	return value, nil
}

// A headerPart is plain text, or a variable.
type headerPart struct {
	text     string
	variable string
	broken   bool // it begins like a variable and is none
}

// parts yields what a value is made of.
func (h Header) parts() func(yield func(headerPart) bool) {
	return func(yield func(headerPart) bool) {
		rest := h.Value
		for {
			before, after, found := strings.Cut(rest, "${")
			if before != "" && !yield(headerPart{text: before}) || !found {
				return
			}
			name, more, closed := strings.Cut(after, "}")
			if !closed || !ValidVariable(name) {
				yield(headerPart{variable: "${", broken: true})
				return
			}
			if !yield(headerPart{variable: name}) {
				return
			}
			rest = more
		}
	}
}

// Variables are the names that a value refers to, up to what begins like a variable and
// is none; then wellFormed is false.
func (h Header) Variables() (names []string, wellFormed bool) {
	for part := range h.parts() {
		switch {
		case part.broken:
			return names, false
		case part.variable != "":
			names = append(names, part.variable)
		}
	}
	return names, true
}

// ValidHeaderValue refuses control characters: a line break would start another header.
func ValidHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
