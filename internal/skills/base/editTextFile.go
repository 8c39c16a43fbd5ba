package base

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/wording"
)

type editTextFileArgs struct {
	Path    string `json:"path" jsonschema:"existing file inside the workspace"`
	OldText string `json:"oldText" minLength:"1" jsonschema:"the text to replace, which must occur exactly once"`
	NewText string `json:"newText" jsonschema:"what to put in its place"`
}

var _ = tools.add(define("editTextFile", (*Skill).editTextFile)) // a second run does not find the text, or finds another

func (s *Skill) editTextFile(ctx context.Context, args editTextFileArgs) answer {
	var before int
	redacted := false
	info, err := s.opts.Workspace.EditFile(ctx, args.Path, maxTextFile, func(old []byte) ([]byte, error) {
		before = len(old)
		shown, err := s.withoutSecrets(ctx, old)
		if err != nil {
			return nil, err
		}
		redacted = !bytes.Equal(shown, old)
		return edit(old, shown, args.OldText, args.NewText)
	})
	if err != nil {
		return refuseEdit(args.Path, err, redacted)
	}
	return answer{body: struct {
		Path       string `json:"path"`
		SizeBefore int    `json:"sizeBefore"`
		Size       int64  `json:"size"`
	}{clean(info.Path), before, info.Size}}
}

// An ambiguousEdit says how often the text occurs.
type ambiguousEdit struct {
	failure
	Matches int `json:"matches"`
}

func refuseEdit(path string, err error, redacted bool) answer {
	name := wording.Cut(path, 200)
	var several *ambiguousError
	switch {
	case errors.As(err, &several):
		return answer{failed: true, body: ambiguousEdit{
			failure{Error: clean(fmt.Sprintf("oldText occurs %s times in %q; give more of the text around the place you mean", several.count(), name)), Code: codeAmbiguous},
			several.matches,
		}}
	case errors.Is(err, errNoMatch):
		hint := ""
		if redacted {
			hint = ", where lines with redacted text cannot be edited"
		}
		return refuse(codeNoMatch, fmt.Sprintf("Could not find exact match of oldText in %q%s; read the file and copy the text as it is", name, hint))
	case errors.Is(err, errBinary):
		return refuse(codeBinary, fmt.Sprintf("%q is a binary file: it contains NUL bytes", name))
	}
	return refuseError(err)
}

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

// withoutSecrets returns the text with NUL characters for the lines in which something is redacted.
// Only what is shown decides, as for grep: if an edit found text in a secret, guesses would tell
// the secret, character by character. The other lines can be read as they are.
func (s *Skill) withoutSecrets(ctx context.Context, text []byte) ([]byte, error) {
	shown, at := bytes.Clone(text), 0
	for line := range bytes.Lines(text) {
		if err := ctx.Err(); err != nil { // a large file takes seconds
			return nil, err
		}
		content := bytes.TrimRight(line, "\r\n")
		if s.opts.Redact(string(content)) != string(content) {
			clear(shown[at : at+len(content)])
		}
		at += len(line)
	}
	return shown, nil
}

// edit replaces oldText, which must occur exactly once in what is shown of the text, by newText. It
// works on bytes: what is not UTF-8 stays as it is, and "$&" has no meaning.
//
// Models write line breaks as LF, whatever the file has. If all lines of the file end in CRLF and
// oldText has no CR, both texts are taken to mean CRLF. Otherwise the new lines would end in LF,
// and an oldText that begins with LF would leave a CR.
func edit(old, shown []byte, oldText, newText string) ([]byte, error) {
	if oldText == "" {
		return nil, errNoMatch // it is everywhere, so nowhere in particular
	}
	if bytes.IndexByte(old, 0) >= 0 {
		return nil, errBinary
	}
	if strings.Contains(oldText, "\x00") {
		return nil, errNoMatch // it would match lines that are not shown
	}
	if !strings.Contains(oldText, "\r") && endsInCRLF(old) {
		oldText, newText = withCRLF(oldText), withCRLF(newText)
	}
	wanted := []byte(oldText)
	at := bytes.Index(shown, wanted)
	if at < 0 {
		return nil, errNoMatch
	}
	if several := count(shown[at:], wanted); several.matches > 1 {
		return nil, several
	}
	return bytes.Join([][]byte{old[:at], []byte(newText), old[at+len(wanted):]}, nil), nil
}

const (
	maxMatches  = 1000     // "at least" is enough beyond
	maxCompared = 64 << 20 // bytes
)

// count counts the matches, including those that overlap: "aa" is in "aaa" twice. Each can cost a
// comparison of the whole text, so fewer matches of a long text are counted.
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
