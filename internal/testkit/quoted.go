package testkit

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// quoted is one word as terminal.Quote writes it.
var quoted = regexp.MustCompile(`(?s)^"((?:[^"\\]|\\.)*)"(?: |$)`)

// escapes of terminal.Quote.
var escapes = regexp.MustCompile(`(?s)\\(?:u\{([0-9a-f]+)\}|s\{([0-9]+)\}|x([0-9a-f]{2})|(.))`)

// ReadQuoted reads words back that terminal.Quote wrote, with a blank between them.
func ReadQuoted(text string) (words []string, err error) {
	for text != "" {
		found := quoted.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("no quoted word: %q", text)
		}
		word := escapes.ReplaceAllStringFunc(found[1], func(escape string) string {
			m := escapes.FindStringSubmatch(escape)
			switch {
			case m[1] != "":
				r, e := strconv.ParseInt(m[1], 16, 32)
				err = errors.Join(err, e)
				return string(rune(r))
			case m[2] != "":
				n, e := strconv.Atoi(m[2])
				err = errors.Join(err, e)
				return strings.Repeat(" ", n)
			case m[3] != "":
				b, e := strconv.ParseUint(m[3], 16, 8)
				err = errors.Join(err, e)
				return string([]byte{byte(b)})
			}
			switch m[4] {
			case "n":
				return "\n"
			case "t":
				return "\t"
			case "r":
				return "\r"
			case `"`, `\`:
				return m[4]
			}
			err = errors.Join(err, fmt.Errorf("unknown escape %q", escape))
			return ""
		})
		if err != nil {
			return nil, err
		}
		words, text = append(words, word), text[len(found[0]):]
	}
	return words, nil
}
