package protect

import "strings"

// A gitConfig is what a git configuration names and git then uses: directories of hooks and
// other configurations.
type gitConfig struct{ hooks, includes []string }

// maxNamed bounds what is taken from one configuration.
const maxNamed = 100

// parseConfig finds hooksPath and the path of includes in a git configuration. It looks at keys
// and not at sections: a file too many is looked at, and none too few. Paths of a home directory
// are left out.
func parseConfig(text string) (c gitConfig) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\\\n", "") // a line that continues
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		if i := strings.LastIndexByte(key, ']'); i >= 0 { // a section on the same line
			key = key[i+1:]
		}
		value = configValue(value)
		if value == "" || value[0] == '~' || strings.ContainsRune(value, 0) || len(c.hooks)+len(c.includes) >= maxNamed {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "hookspath":
			c.hooks = append(c.hooks, value)
		case "path":
			c.includes = append(c.includes, value)
		}
	}
	return c
}

// configValue removes blanks around a value, quotes, escapes and a comment.
func configValue(text string) string {
	var out strings.Builder
	quoted := false
	blanks := ""
	text = strings.TrimSpace(text)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			quoted = !quoted
			continue
		case (c == '#' || c == ';') && !quoted:
			return out.String()
		case c == '\\' && i+1 < len(text):
			i++
			c = text[i]
		case (c == ' ' || c == '\t') && !quoted:
			blanks += string(c)
			continue
		}
		out.WriteString(blanks)
		out.WriteByte(c)
		blanks = ""
	}
	return out.String()
}
