package env

import (
	"bytes"
	"fmt"
	"strings"
)

// assignment is one NAME=value of an env file.
type assignment struct {
	name, value string
	line        int
	cut         bool // a # without a blank before it ended the value
}

// parseEnv reads the text of an env file.
//
// The parser is our own. The usual library, godotenv, replaces $NAME inside
// values, which silently corrupts passwords that contain a dollar sign.
//
// Messages name the line and never quote it: it may hold a secret.
func parseEnv(path string, data []byte) ([]assignment, error) {
	text := string(bytes.TrimPrefix(data, []byte("\ufeff")))
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	p := &envParser{path: path, rest: text, line: 1}
	var out []assignment
	for p.rest != "" {
		a, ok, err := p.next()
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, a)
		}
	}
	return out, nil
}

type envParser struct {
	path string
	rest string
	line int
}

func (p *envParser) fail(line int, message, hint string) error {
	return fmt.Errorf("%s:%d: %s; %s", p.path, line, message, hint)
}

// next reads one line, or several if a quoted value spans them.
func (p *envParser) next() (a assignment, ok bool, err error) {
	start := p.line
	line, _, _ := strings.Cut(p.rest, "\n")
	s := strings.TrimLeft(line, " \t")
	if s == "" || s[0] == '#' {
		p.advance(len(line) + 1)
		return a, false, nil
	}
	if after, found := strings.CutPrefix(s, "export"); found {
		// A variable may be called export, or exported: only a name after it
		// makes it the keyword of the shell.
		if t := strings.TrimLeft(after, " \t"); t != after && t != "" && isEnvNameByte(t[0]) {
			s = t
		}
	}
	n := 0
	for n < len(s) && isEnvNameByte(s[n]) {
		n++
	}
	name, s := s[:n], strings.TrimLeft(s[n:], " \t")
	switch {
	case name == "":
		return a, false, p.fail(start, "expected NAME=value", "comments start with #")
	case strings.HasPrefix(s, "="):
	case s == ":" || strings.HasPrefix(s, ": ") || strings.HasPrefix(s, ":\t"):
	default:
		return a, false, p.fail(start, "expected = after the name", "write NAME=value")
	}
	s = strings.TrimLeft(s[1:], " \t")
	p.advance(len(line) - len(s)) // the value may go beyond this line
	a = assignment{name: name, line: start}
	if s != "" && strings.IndexByte("'\"`", s[0]) >= 0 {
		a.value, err = p.quoted(start)
	} else {
		a.value, a.cut = p.plain(s)
	}
	if err == nil && strings.IndexByte(a.value, 0) >= 0 {
		err = p.fail(start, "the value has a NUL character", "remove it")
	}
	return a, err == nil, err
}

// plain reads an unquoted value: up to the end of the line or the first #.
func (p *envParser) plain(s string) (value string, cut bool) {
	p.advance(len(s) + 1)
	value, _, comment := strings.Cut(s, "#")
	trimmed := strings.TrimSpace(value)
	return trimmed, comment && trimmed != "" && len(trimmed) == len(value)
}

// quoted reads a value that starts with a quote and may span lines. In double
// quotes \" does not end the value, and \n and \r stand for line ends; nothing
// else is special, and in the other quotes nothing at all is.
func (p *envParser) quoted(start int) (string, error) {
	quote := p.rest[0]
	end := 1
	for end < len(p.rest) && p.rest[end] != quote {
		if quote == '"' && p.rest[end] == '\\' && end+1 < len(p.rest) && p.rest[end+1] == '"' {
			end++
		}
		end++
	}
	if end >= len(p.rest) {
		return "", p.fail(start, "the quote is never closed", "close it, or write the value without quotes")
	}
	value := p.rest[1:end]
	p.advance(end + 1)
	after, _, _ := strings.Cut(p.rest, "\n")
	if t := strings.TrimLeft(after, " \t"); t != "" && t[0] != '#' {
		return "", p.fail(p.line, "text after the closing quote", "put the whole value in one kind of quotes")
	}
	p.advance(len(after) + 1)
	if quote == '"' {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
	}
	return value, nil
}

// advance consumes n bytes, at most what is left, and counts their lines.
func (p *envParser) advance(n int) {
	n = min(n, len(p.rest))
	p.line += strings.Count(p.rest[:n], "\n")
	p.rest = p.rest[n:]
}

func isEnvNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}
