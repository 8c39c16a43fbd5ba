package oci

import (
	"strings"
)

// maxChallenge bounds how much of a header is read.
const maxChallenge = 8 << 10

// A challenge is one way to log in that a server offers.
type challenge struct {
	scheme     string            // in lower case
	parameters map[string]string // by names in lower case
}

// parseChallenges reads the values of the header WWW-Authenticate, as RFC 9110 defines it. A server can offer
// several ways, in one value or in several. Reading ends at the first mistake.
func parseChallenges(values []string) (all []challenge) {
	text := strings.Join(values, ", ")
	if len(text) > maxChallenge {
		return nil
	}
	for {
		text = strings.TrimLeft(text, " \t,")
		scheme, rest := cutToken(text)
		// A scheme ends at a space, at a comma, or with the header.
		if scheme == "" || rest != "" && !strings.ContainsRune(" \t,", rune(rest[0])) {
			return all
		}
		one := challenge{scheme: strings.ToLower(scheme), parameters: map[string]string{}}
		if text = skip68(rest); text == rest {
			var ok bool
			if text, ok = one.read(rest); !ok {
				return all
			}
		}
		all = append(all, one)
	}
}

// read reads the parameters after a scheme, and returns what follows them.
func (c *challenge) read(text string) (rest string, ok bool) {
	for {
		trimmed := strings.TrimLeft(text, " \t,")
		name, after := cutToken(trimmed)
		after = trimSpace(after)
		if name == "" || !strings.HasPrefix(after, "=") {
			return trimmed, true // the end, or another scheme
		}
		value, after, ok := cutValue(trimSpace(after[1:]))
		after = trimSpace(after)
		if name = strings.ToLower(name); !ok || after != "" && after[0] != ',' {
			return "", false
		}
		if _, twice := c.parameters[name]; twice {
			return "", false
		}
		c.parameters[name], text = value, after
	}
}

func trimSpace(s string) string { return strings.TrimLeft(s, " \t") }

// cutToken cuts a word off the beginning of a text.
func cutToken(s string) (token, rest string) {
	end := strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
	if end < 0 {
		return s, ""
	}
	return s[:end], s[end:]
}

// cutValue cuts a word or a quoted text off the beginning of a text.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest = cutToken(s)
		return value, rest, value != ""
	}
	var plain strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return plain.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			plain.WriteByte(s[i])
		default:
			plain.WriteByte(c)
		}
	}
	return "", "", false
}

// skip68 leaves out what some schemes have in place of parameters: one word of base64. Without one, it returns
// the text as it was.
func skip68(s string) string {
	trimmed := trimSpace(s)
	rest := strings.TrimLeft(trimmed, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/")
	if len(rest) == len(trimmed) {
		return s
	}
	rest = trimSpace(strings.TrimLeft(rest, "="))
	if rest != "" && rest[0] != ',' {
		return s
	}
	return rest
}
