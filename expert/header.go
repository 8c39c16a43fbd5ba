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
	parts, wellFormed := h.split()
	for i := 1; i < len(parts); i += 2 {
		name := parts[i]
		// The parser of perstack.toml refuses such a header. One that was made by hand must
		// not get other variables.
		if !slices.Contains(declared, name) {
			return "", fmt.Errorf("%s is not in requiredEnv", quote(name))
		}
		parts[i] = get(name)
		switch {
		case parts[i] == "":
			return "", fmt.Errorf("%s is not set (declared in requiredEnv); set it in the environment or in .env", name)
		case !ValidHeaderValue(parts[i]):
			return "", fmt.Errorf("the value of %s has a line break or another control character; remove it", name)
		}
	}
	value := strings.Join(parts, "")
	switch {
	case !wellFormed:
		return "", fmt.Errorf("%s is not in requiredEnv", quote("${"))
	case !ValidHeaderValue(value):
		return "", errors.New("has a control character in its value; remove it")
	}
	return value, nil
}

// split cuts the value at its variables: text, name, text, name and so on. It ends at what
// begins like a variable and is none; then wellFormed is false.
func (h Header) split() (parts []string, wellFormed bool) {
	for rest := h.Value; ; {
		text, after, found := strings.Cut(rest, "${")
		parts = append(parts, text)
		if !found {
			return parts, true
		}
		name, more, closed := strings.Cut(after, "}")
		if !closed || !ValidVariable(name) {
			return parts, false
		}
		parts, rest = append(parts, name), more
	}
}

// Variables are the names that a value refers to, up to what begins like a variable and
// is none; then wellFormed is false.
func (h Header) Variables() (names []string, wellFormed bool) {
	parts, wellFormed := h.split()
	for i := 1; i < len(parts); i += 2 {
		names = append(names, parts[i])
	}
	return names, wellFormed
}

// ValidHeaderValue refuses control characters: a line break would start another header.
func ValidHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
