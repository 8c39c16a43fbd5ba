package policy

import (
	"strings"
	"unicode"
)

// maxGitConfig bounds the configuration that is read, maxGitValue what is taken of one value.
const (
	maxGitConfig = 1 << 20
	maxGitValue  = 1024
)

// GitConfig returns what programs see of the user's git configuration: name, address and the
// name of new branches. Everything else stays outside: credential helpers, programs, included
// files, addresses with passwords.
func GitConfig(content []byte) string {
	kept := map[string]string{"user.name": "", "user.email": "", "init.defaultbranch": ""}
	parseGitConfig(content[:min(len(content), maxGitConfig)], func(key, value string) {
		if _, ok := kept[key]; ok {
			kept[key] = printable(value, maxGitValue)
		}
	})
	var out strings.Builder
	section := func(name string, keys ...string) {
		begun := false
		for _, key := range keys {
			value := kept[name+"."+strings.ToLower(key)]
			if value == "" {
				continue
			}
			if !begun {
				out.WriteString("[" + name + "]\n")
				begun = true
			}
			out.WriteString("\t" + key + " = " + quoteGit(value) + "\n")
		}
	}
	section("user", "name", "email")
	section("init", "defaultBranch")
	return out.String()
}

// quoteGit writes a value that has no control characters.
func quoteGit(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// printable is the beginning of a text without characters that change how it is shown.
func printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// parseGitConfig calls found with the variables of a git configuration, such as core.worktree.
// Sections and keys are in lower case. Variables of subsections are left out. At what git
// would refuse it stops.
func parseGitConfig(content []byte, found func(key, value string)) {
	r := gitReader{text: strings.TrimPrefix(string(content), "\ufeff")}
	section := ""
	for {
		r.skipBlank()
		switch c := r.peek(); {
		case c == 0:
			return
		case c == '[':
			name, ok := r.section()
			if !ok {
				return
			}
			section = name
		case isLetter(c):
			key, value, ok := r.variable()
			if !ok {
				return
			}
			if section != "" {
				found(section+"."+key, value)
			}
		default:
			return
		}
	}
}

type gitReader struct {
	text string
	at   int
}

// peek returns the next byte, and 0 at the end. A NUL in the text ends it, too.
func (r *gitReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isName(c byte) bool   { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

// skipBlank skips blanks, line ends and comments.
func (r *gitReader) skipBlank() {
	for {
		switch r.peek() {
		case ' ', '\t', '\r', '\n', '\v', '\f':
			r.at++
		case '#', ';':
			r.skipLine()
		default:
			return
		}
	}
}

func (r *gitReader) skipLine() {
	if n := strings.IndexByte(r.text[r.at:], '\n'); n >= 0 {
		r.at += n
		return
	}
	r.at = len(r.text)
}

// section reads [name]; for [name "sub"] and [name.sub] the result is empty.
func (r *gitReader) section() (name string, ok bool) {
	end := strings.IndexByte(r.text[r.at:], '\n')
	if end < 0 {
		end = len(r.text) - r.at
	}
	line := r.text[r.at+1 : r.at+end]
	i := 0
	for i < len(line) && (isName(line[i]) || line[i] == '.') {
		i++
	}
	name = strings.ToLower(line[:i])
	rest := strings.TrimLeft(line[i:], " \t")
	if strings.HasPrefix(rest, "]") && len(rest) == len(line[i:]) {
		r.at += 1 + i + 1
		if strings.Contains(name, ".") {
			name = ""
		}
		return name, i > 0
	}
	if !strings.HasPrefix(rest, `"`) {
		return "", false
	}
	at := len(line) - len(rest) + 1
	for at < len(line) && line[at] != '"' {
		if line[at] == '\\' {
			at++
		}
		at++
	}
	if at+1 >= len(line) || line[at+1] != ']' {
		return "", false
	}
	r.at += 1 + at + 2
	return "", true
}

// variable reads key = value. A key alone means true.
func (r *gitReader) variable() (key, value string, ok bool) {
	begin := r.at
	for isName(r.peek()) {
		r.at++
	}
	key = strings.ToLower(r.text[begin:r.at])
	for r.peek() == ' ' || r.peek() == '\t' {
		r.at++
	}
	switch r.peek() {
	case '=':
		r.at++
		value, ok = r.value()
		return key, value, ok
	case '\n', '\r', 0:
		return key, "true", true
	case '#', ';':
		r.skipLine()
		return key, "true", true
	}
	return "", "", false
}

// value reads to the end of the line, with quotes, escapes and lines that continue.
func (r *gitReader) value() (string, bool) {
	var out strings.Builder
	quoted, blanks := false, 0
	for {
		c := r.peek()
		r.at++
		switch {
		case c == 0 || c == '\n':
			return out.String(), !quoted
		case c == '\r' && (r.peek() == '\n' || r.peek() == 0):
			continue
		case (c == ' ' || c == '\t') && !quoted:
			if out.Len() > 0 {
				blanks++
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			r.skipLine()
			return out.String(), true
		case c == '"':
			quoted = !quoted
			continue
		case c == '\\':
			c = r.peek()
			r.at++
			switch c {
			case '\n':
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return "", false
			}
		}
		out.WriteString(strings.Repeat(" ", blanks))
		blanks = 0
		out.WriteByte(c)
	}
}
