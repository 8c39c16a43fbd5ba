package base

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

var errNoMatch = errors.New("no match")

// An ambiguousError says that the text to replace is there more than once.
type ambiguousError struct{ matches int }

func (e *ambiguousError) Error() string { return fmt.Sprintf("%d matches", e.matches) }

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
	// From the next byte on: in "aaa", "aa" is there twice, though the two overlap.
	if bytes.Contains(old[at+1:], wanted) {
		return nil, &ambiguousError{max(2, bytes.Count(old, wanted))}
	}
	return bytes.Join([][]byte{old[:at], []byte(newText), old[at+len(wanted):]}, nil), nil
}

// endsInCRLF reports whether there are line ends, and all of them are CRLF.
func endsInCRLF(text []byte) bool {
	lines := bytes.Count(text, []byte("\n"))
	return lines > 0 && lines == bytes.Count(text, []byte("\r\n"))
}

func withCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}
