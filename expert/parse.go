package expert

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// maxFile bounds perstack.toml and each .env file: 1 MiB.
const maxFile = 1 << 20

// Parse reads the text of a perstack.toml. The path says where the text comes
// from: it names the file in problems, and relative paths in the file are
// relative to its directory.
//
// All problems are reported together. The Config is nil if one of them is an
// error, that is if Problems.Err is not nil.
func Parse(path string, data []byte) (*Config, Problems) {
	r := &reader{file: path, doc: newDocument(nil), positions: map[string]Position{}}
	if len(data) > maxFile {
		r.fault(0, "", "the file is larger than 1 MiB", "keep long texts out of it")
		return nil, r.problems
	}
	source := data
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors on Windows put it there
	r.doc = newDocument(data)

	var b builder
	root, syntax := b.build(data)
	if b.excess != "" {
		r.fault(b.excessAt, "", b.excess, "")
		return nil, r.problems
	}
	for _, d := range b.twice {
		r.fault(d.at, d.path, "defined twice", fmt.Sprintf("the first is on line %d", r.doc.position(d.first).Line))
	}
	if syntax != nil {
		r.partial = true
		message := visible(syntax.Error())
		r.fault(b.offset(syntax), "", message, syntaxHint(message))
	}
	r.decode(data)

	cfg := r.config(root)
	r.problems.Sort()
	if r.problems.Err() != nil {
		return nil, r.problems
	}
	cfg.file, cfg.Path, cfg.source = path, path, source
	if abs, err := filepath.Abs(path); err == nil {
		cfg.Path = abs
	}
	cfg.Dir = filepath.Dir(cfg.Path)
	if s := &cfg.Provider.Setting; s.Cassette != "" && !filepath.IsAbs(s.Cassette) {
		s.Cassette = filepath.Join(cfg.Dir, s.Cassette)
	}
	cfg.positions = r.positions
	return cfg, r.problems
}

// reader collects what is wrong while the tree is turned into a Config.
type reader struct {
	file      string
	doc       *document
	problems  Problems
	positions map[string]Position
	partial   bool // a syntax error hid the rest: say nothing about missing keys
	delegates []delegateRef
}

// decode asks the real decoder about everything that TOML forbids and the tree
// does not see: tables redefined by dotted keys, impossible dates, numbers that
// do not fit. It stops at its first error, and says nothing new about a line
// that has a finding already.
func (r *reader) decode(data []byte) {
	var ignored map[string]any
	err := toml.Unmarshal(data, &ignored)
	if err == nil {
		return
	}
	at, path := 0, ""
	var de *toml.DecodeError
	if errors.As(err, &de) {
		line, column := de.Position()
		at = r.doc.lines[min(max(line, 1), len(r.doc.lines))-1] + max(column, 1) - 1
		for _, part := range de.Key() {
			path = pathTo(path, part)
		}
	}
	line := r.doc.position(at).Line
	for _, p := range r.problems {
		if p.Line == line {
			return
		}
	}
	message := visible(strings.TrimPrefix(err.Error(), "toml: "))
	r.fault(at, path, message, syntaxHint(message))
}

// syntaxHint helps with the mistakes that newcomers to TOML make.
func syntaxHint(message string) string {
	switch {
	case strings.Contains(message, "start of key: U+0040"):
		return `put names with @ or / in quotes, like [experts."@acme/writer"]`
	case strings.Contains(message, "expected ']' to close table name"):
		return `put names with other characters than letters, digits, - and _ in quotes, like [experts."@acme/writer"]`
	case strings.Contains(message, "at start of value"), strings.Contains(message, "expected keyword"):
		return "put text in quotes"
	case strings.Contains(message, "unterminated basic string"), strings.Contains(message, "new lines"):
		return `text of several lines stands between """ and """`
	}
	return ""
}

// fault reports an error at an offset.
func (r *reader) fault(at int, path, message, hint string) {
	r.add(at, Problem{Path: path, Message: message, Hint: hint})
}

// warn reports something that does not keep the file from being used.
func (r *reader) warn(at int, path, message, hint string) {
	r.add(at, Problem{Path: path, Message: message, Hint: hint, Warning: true})
}

func (r *reader) add(at int, p Problem) {
	pos := r.doc.position(at)
	p.File, p.Line, p.Column = r.file, pos.Line, pos.Column
	r.problems = append(r.problems, p)
}

// missing reports a key that has to be there.
func (r *reader) missing(at int, path, message, hint string) {
	if !r.partial {
		r.fault(at, path, message, hint)
	}
}

// mark remembers where something is declared, for Config.Problem.
func (r *reader) mark(path string, n *node) {
	r.positions[path] = r.doc.position(n.keyAt)
}
