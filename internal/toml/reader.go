// Package toml reads TOML strictly: a tree of values that know where they are written,
// tables that are asked key by key, and all problems at once.
//
// It knows no file format of its own: internal/manifest and internal/lockfile say which
// keys there are. Start reading at [ReadTree] and [Table].
package toml

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	gotoml "github.com/pelletier/go-toml/v2"
)

// Reader collects what is wrong while a file is read.
type Reader struct {
	file     string
	data     []byte
	lines    []int // where each line begins
	Problems Problems
	Partial  bool // a syntax error hid the rest: say nothing about missing keys
	faults   int  // errors among the problems
}

// decode asks the real decoder about everything that TOML forbids and the tree
// does not see: tables redefined by dotted keys, impossible dates, numbers that
// do not fit. It stops at its first error, and says nothing new about a line
// that has a finding already.
func (r *Reader) decode(data []byte) {
	var ignored map[string]any
	err := gotoml.Unmarshal(data, &ignored)
	if err == nil {
		return
	}
	at, path := 0, ""
	if de, ok := errors.AsType[*gotoml.DecodeError](err); ok {
		line, column := de.Position()
		at = r.lines[min(max(line, 1), len(r.lines))-1] + max(column, 1) - 1
		for _, part := range de.Key() {
			path = PathTo(path, part)
		}
	}
	line := r.position(at).Line
	for _, p := range r.Problems {
		if p.Line == line {
			return
		}
	}
	message, hint := describeSyntax(strings.TrimPrefix(err.Error(), "toml: "), data, min(at, len(data)))
	r.Fault(at, path, message, hint)
}

// Fault reports an error at an offset.
func (r *Reader) Fault(at int, path, message, hint string) {
	r.add(at, Problem{Path: path, Message: message, Hint: hint})
}

// Warn reports something that does not keep the file from being used.
func (r *Reader) Warn(at int, path, message, hint string) {
	r.add(at, Problem{Path: path, Message: message, Hint: hint, Warning: true})
}

// MaxFaults is how many errors of a file are reported: more than a user reads. A hostile file
// can have one in every other byte.
const MaxFaults = 1000

// Full reports whether so many errors were found that no more are looked for.
func (r *Reader) Full() bool { return r.faults >= MaxFaults }

func (r *Reader) add(at int, p Problem) {
	if r.Full() {
		return
	}
	pos := r.position(at)
	p.File, p.Line, p.Column = r.file, pos.Line, pos.Column
	r.Problems = append(r.Problems, p)
	if p.Warning {
		return
	}
	if r.faults++; r.Full() {
		end := r.position(len(r.data))
		r.Problems = append(r.Problems, Problem{File: r.file, Line: end.Line, Column: end.Column, Message: fmt.Sprintf("the file has more than %d problems", MaxFaults), Hint: "fix these first"})
	}
}

// Missing reports a key that has to be there.
func (r *Reader) Missing(at int, path, message, hint string) {
	if !r.Partial {
		r.Fault(at, path, message, hint)
	}
}

// Positions has the place of every key below a table, and of every table in a list, by its path.
func (r *Reader) Positions(root *Node) map[string]Position {
	all := map[string]Position{}
	var visit func(t *Node)
	visit = func(t *Node) {
		for _, n := range t.Fields {
			all[n.Path()] = r.position(n.KeyAt)
			visit(n)
			for _, item := range n.Items {
				if item.Kind == KindTable {
					all[item.Path()] = r.position(item.KeyAt)
					visit(item)
				}
			}
		}
	}
	visit(root)
	return all
}

// ReadTree reads the text of a file. What TOML forbids is in the problems of the reader;
// the tree has what can be read nevertheless. It is nil if the file breaks a limit, and
// then nothing else should look at the file.
func ReadTree(file string, data []byte) (*Reader, *Node) {
	r := &Reader{file: file, data: data, lines: []int{0}}
	if at, ok := r.scan(); !ok {
		r.Fault(at, "", fmt.Sprintf("the file has more than %d lines and separators", maxMarks), "")
		return r, nil
	}
	root, b, text := r.parse()
	if b.excess != "" {
		r.Fault(b.excessAt, "", b.excess, "")
		return r, nil
	}
	for _, d := range b.twice[:min(len(b.twice), MaxFaults)] {
		r.Fault(d.at, d.of.Path(), "defined twice", fmt.Sprintf("the first is on line %d", r.position(d.first).Line))
	}
	r.decode(text)
	return r, root
}

// position turns an offset into line and column. On absurdly long lines the
// column counts bytes, which keeps the cost of a hostile file linear.
func (r *Reader) position(offset int) Position {
	offset = min(max(offset, 0), len(r.data))
	line := sort.SearchInts(r.lines, offset+1)
	before := r.data[r.lines[line-1]:offset]
	column := len(before) + 1
	if len(before) < 4096 {
		column = utf8.RuneCount(before) + 1
	}
	return Position{Line: line, Column: column}
}

// Line is the line of an offset.
func (r *Reader) Line(offset int) int { return r.position(offset).Line }
