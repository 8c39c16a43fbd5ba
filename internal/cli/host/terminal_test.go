package host

import (
	"errors"
	"strings"
	"testing"
)

// What is said about an error moves no cursor, sets no title and turns no text round,
// wherever its text comes from. Lines stay lines.
func TestDescribeIsClean(t *testing.T) {
	for dirty, want := range map[string]string{
		"\x1b[2Jno\x1b]0;title\x07 \u009b31mexpert":       "no expert",
		"file \u202etxt.exe\u2069: \u200bnot\u00ad found": "file txt.exe: not found",
		"one\ntwo": "one\ntwo",
	} {
		got := Describe(&ExitError{ExitUsage, errors.New(dirty)})
		if got != want || strings.ContainsAny(got, "\x1b\x07\u009b\u202e\u2069") {
			t.Errorf("Describe(%q) = %q, want %q", dirty, got, want)
		}
	}
}
