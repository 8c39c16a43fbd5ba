package toml

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/wording"
)

// Position is a place in a file. Lines and columns start at 1; columns count
// characters, not bytes, as editors do.
type Position struct {
	Line, Column int
}

// Problem is one thing that is wrong, or worth a warning, in a file.
type Problem struct {
	File    string `json:"file"`          // empty when it is about a flag
	Line    int    `json:"line,omitzero"` // 0 when the problem has no place in the file
	Column  int    `json:"column,omitzero"`
	Path    string `json:"path,omitzero"` // dotted, such as experts.a.instruction; empty for syntax errors
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"` // what to do about it; may be empty
	Warning bool   `json:"-"`             // the file can be used nevertheless
}

// String is one line that editors and terminals understand, for instance
//
//	perstack.toml:12:3: experts.a.maxStep: unknown key; did you mean "maxSteps"?
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column))
	}
	if p.File != "" {
		b.WriteString(": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Problems are all findings about one file, in the order of the file.
type Problems []Problem

// Err is nil when there are only warnings. Otherwise it is an error of type
// Problems that holds the errors alone and prints one a line.
func (ps Problems) Err() error {
	if errs := ps.pick(false); len(errs) > 0 {
		return errs
	}
	return nil
}

// Warnings are the findings that do not keep the file from being used.
func (ps Problems) Warnings() Problems { return ps.pick(true) }

// Error makes a list of problems usable as an error; see Err.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) pick(warning bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// First are the first of the problems. If these are not all, the last one says so.
func (ps Problems) First(most int) Problems {
	if len(ps) <= most {
		return ps
	}
	last := ps[most]
	rest := Problem{File: last.File, Line: last.Line, Column: last.Column, Warning: last.Warning,
		Message: "and " + strconv.Itoa(len(ps)-most) + " more", Hint: "fix these first"}
	return append(ps[:most:most], rest)
}

// Sort puts the findings into the order of the file.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// maxBare bounds a key that is shown as it is; a quoted one is cut even shorter. A file can
// have a key of a megabyte, with a mistake in each of very many values below it.
const maxBare = 256

// PathTo joins dotted path and keys; a key that is not a bare TOML key is quoted as it
// would be in the file.
func PathTo(path string, keys ...string) string {
	for _, key := range keys {
		if key = wording.Cut(key, maxBare); !IsBare(key) {
			key = wording.Quote(key)
		}
		if path != "" {
			key = path + "." + key
		}
		path = key
	}
	return path
}

// IsBare reports whether a key needs no quotes.
func IsBare(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
}
