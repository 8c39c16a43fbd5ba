package base

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

var errNoMatch = errors.New("no match")

// An ambiguousError says that the text to replace is there more than once.
type ambiguousError struct {
	matches int
	more    bool // counting ended before the end of the file
}

func (e *ambiguousError) Error() string { return e.count() + " matches" }

func (e *ambiguousError) count() string {
	if e.more {
		return fmt.Sprintf("at least %d", e.matches)
	}
	return fmt.Sprint(e.matches)
}

// edit replaces oldText, which must occur exactly once, by newText. It works on bytes
// and never decodes them: what is not UTF-8 stays as it is, "$&" means nothing, and no
// byte outside of the match changes.
//
// Models write line breaks as LF, whatever the file has. If all lines of the file end in
// CRLF and oldText has no CR of its own, both texts are taken to mean CRLF; taken
// literally, a new line would end differently from all others, and an oldText that
// begins with LF would leave half of a CRLF behind.
func edit(old []byte, oldText, newText string) ([]byte, error) {
	if oldText == "" {
		return nil, errNoMatch // it is everywhere, so nowhere in particular
	}
	if bytes.IndexByte(old, 0) >= 0 {
		return nil, errBinary
	}
	if !strings.Contains(oldText, "\r") && endsInCRLF(old) {
		oldText, newText = withCRLF(oldText), withCRLF(newText)
	}
	wanted := []byte(oldText)
	at := bytes.Index(old, wanted)
	if at < 0 {
		return nil, errNoMatch
	}
	if several := count(old[at:], wanted); several.matches > 1 {
		return nil, several
	}
	return bytes.Join([][]byte{old[:at], []byte(newText), old[at+len(wanted):]}, nil), nil
}

const (
	maxMatches  = 1000     // nobody needs to know how many more
	maxCompared = 64 << 20 // bytes
)

// count counts the matches, also those that overlap: "aa" is in "aaa" twice. Each costs
// a comparison of the whole text, so of a long one fewer are counted: a file of nothing
// but "a" would otherwise take as long as its size times that of the text.
func count(text, wanted []byte) *ambiguousError {
	most := max(2, min(maxMatches, maxCompared/len(wanted)))
	found := 0
	for {
		at := bytes.Index(text, wanted)
		if at < 0 {
			return &ambiguousError{matches: found}
		}
		if found == most {
			return &ambiguousError{matches: found, more: true}
		}
		found++
		text = text[at+1:]
	}
}

// endsInCRLF reports whether there are line ends, and all of them are CRLF.
func endsInCRLF(text []byte) bool {
	lines := bytes.Count(text, []byte("\n"))
	return lines > 0 && lines == bytes.Count(text, []byte("\r\n"))
}

func withCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}
