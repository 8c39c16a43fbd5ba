package base

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	tests := []struct {
		name, old, oldText, newText string
		want                        string
		matches                     int // 0 means that the text is not found, 1 that it is
	}{
		{"plain", "one two three", "two", "2", "one 2 three", 1},
		{"at the beginning", "one two", "one", "1", "1 two", 1},
		{"at the end", "one two", "two", "2", "one 2", 1},
		{"all of it", "one", "one", "1", "1", 1},
		{"removed", "one two", " two", "", "one", 1},
		{"the same", "one", "one", "one", "one", 1},
		{"not there", "one", "two", "2", "", 0},
		{"in nothing", "", "two", "2", "", 0},
		{"other letter case", "One", "one", "1", "", 0},
		{"other spaces", "a\tb", "a b", "x", "", 0},
		{"twice", "a b a", "a", "x", "", 2},
		{"many times", "aaaaaaaaaa", "a", "x", "", 10},
		{"overlapping", "aaa", "aa", "x", "", 2},
		{"overlapping later", "-aba-ababa", "aba", "x", "", 3},
		{"overlapping often", "aaaa", "aa", "x", "", 3},
		{"the new text is no match", "a b", "b", "a a", "a a a", 1},

		{"dollar and ampersand", "price", "price", "$& $1 $$ $` $' ${0}", "$& $1 $$ $` $' ${0}", 1},
		{"backslashes", `a\1b`, `\1`, `\0\n`, `a\0\nb`, 1},
		{"pattern characters", "f(x) = [a-z]*", "(x) = [a-z]*", "(y)", "f(y)", 1},

		{"not UTF-8 outside", "\xff\xfe caf\xe9 one \xc3", "one", "é", "\xff\xfe caf\xe9 é \xc3", 1},
		{"U+FFFD is not what cannot be read", "caf\xe9", "caf\uFFFD", "x", "", 0},
		{"byte order mark", "\uFEFFone", "one", "two", "\uFEFFtwo", 1},
		{"composed and not", "e\u0301", "\u00e9", "x", "", 0},

		{"LF file", "a\nb\nc\n", "a\nb", "x\ny", "x\ny\nc\n", 1},
		{"CRLF in an LF file", "a\nb\n", "a\r\nb", "x", "", 0},
		{"CRLF file, LF texts", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n", 1},
		{"CRLF file, CRLF texts", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", 1},
		{"CRLF file, one line becomes two", "a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n", 1},
		{"CRLF file, beginning with the line end", "a\r\nb\r\n", "\nb", "", "a\r\n", 1},
		{"CRLF file, ending with the line end", "a\r\nb\r\n", "a\n", "", "b\r\n", 1},
		{"CRLF file, a CRLF in the new text only", "a\r\nb\r\n", "a\nb", "x\r\ny\nz", "x\r\ny\r\nz\r\n", 1},
		{"CRLF file, to LF on purpose", "a\r\nb\r\n", "a\r\nb\r\n", "a\nb\n", "a\nb\n", 1},
		{"CRLF file, twice", "a\r\nb\r\na\r\nb\r\n", "a\nb", "x", "", 2},
		{"mixed file, LF texts", "a\r\nb\nc\r\n", "b\nc", "x\ny", "a\r\nx\ny\r\n", 1},
		{"mixed file, LF text at a CRLF", "a\r\nb\nc\r\n", "a\nb", "x", "", 0},
		{"mixed file, CRLF text", "a\r\nb\nc\r\n", "a\r\nb", "x\ny", "x\ny\nc\r\n", 1},
		{"lone CR", "a\rb\r\n", "a\rb", "x\n", "x\n\r\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := []byte(tt.old)
			got, err := edit(old, old, tt.oldText, tt.newText)
			var several *ambiguousError
			matches := 1
			switch {
			case errors.As(err, &several):
				matches = several.matches
			case errors.Is(err, errNoMatch):
				matches = 0
			case err != nil:
				t.Fatal(err)
			}
			if string(got) != tt.want || matches != tt.matches {
				t.Errorf("edit(%q, %q, %q) = %q, %d matches; want %q, %d", tt.old, tt.oldText, tt.newText, got, matches, tt.want, tt.matches)
			}
			if string(old) != tt.old {
				t.Errorf("the old content became %q", old)
			}
		})
	}
	if _, err := edit([]byte("a\x00b"), []byte("a\x00b"), "a", "b"); !errors.Is(err, errBinary) {
		t.Errorf("binary file: %v", err)
	}
	if _, err := edit([]byte("a"), []byte("a"), "", "b"); !errors.Is(err, errNoMatch) {
		t.Errorf("empty text: %v", err)
	}
}

// The worst that there is to count, in time that is not the product of the sizes: as
// a product it would not end while somebody waits.
func TestEditCountIsBounded(t *testing.T) {
	text := bytes.Repeat([]byte("a"), maxTextFile)
	for _, tt := range []struct{ length, matches int }{{1, 1000}, {1000, 1000}, {1 << 20, 64}, {maxTextFile / 2, 2}} {
		_, err := edit(text, text, string(text[:tt.length]), "x")
		var several *ambiguousError
		if !errors.As(err, &several) || several.matches != tt.matches || !several.more {
			t.Errorf("%d bytes: %v, want at least %d matches", tt.length, err, tt.matches)
		}
	}
	exact := bytes.Repeat([]byte("a"), maxMatches)
	if _, err := edit(exact, exact, "a", "x"); err == nil || err.Error() != "1000 matches" {
		t.Errorf("as many as are counted: %v", err)
	}
}

// Whatever is edited, one range of the file is exchanged and no other byte changes, and
// what was exchanged can be exchanged back.
func FuzzEdit(f *testing.F) {
	for _, seed := range [][3]string{
		{"one two three", "two", "2"},
		{"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny"},
		{"a\r\nb\nc", "b\nc", "$&\r\n"},
		{"\xff\xfe\xe9 x", "x", "é"},
		{"aaa", "aa", "a"},
		{"a\r\n", "\n", "\r"},
		{"a\x00", "a", "b"},
	} {
		f.Add([]byte(seed[0]), seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, old []byte, oldText, newText string) {
		before := bytes.Clone(old)
		edited, err := edit(old, old, oldText, newText)
		if !bytes.Equal(old, before) {
			t.Fatal("the old content was changed in place")
		}
		if err != nil {
			if edited != nil {
				t.Fatalf("content %q with %v", edited, err)
			}
			return
		}
		if !exchanged(old, edited, oldText, newText) &&
			!(endsInCRLF(old) && exchanged(old, edited, withCRLF(oldText), withCRLF(newText))) {
			t.Fatalf("edit(%q, %q, %q) = %q: more than the match changed", old, oldText, newText, edited)
		}
		// The way back goes by the same rule only if both files and both texts have
		// the same line ends.
		hasCR := func(s string) bool { return strings.Contains(s, "\r") }
		if endsInCRLF(old) != endsInCRLF(edited) || hasCR(oldText) != hasCR(newText) {
			return
		}
		if back, err := edit(edited, edited, newText, oldText); err == nil && !bytes.Equal(back, old) {
			t.Fatalf("edit(%q, %q, %q) = %q, and back %q", old, oldText, newText, edited, back)
		}
	})
}

// exchanged reports whether after is before with its only oldText replaced by newText.
func exchanged(before, after []byte, oldText, newText string) bool {
	head, tail, found := bytes.Cut(before, []byte(oldText))
	return found && string(after) == string(head)+newText+string(tail)
}
