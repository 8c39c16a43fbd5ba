package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// The keys of each table. Below args, names are free.
var known = map[string][]string{
	"":           {"turn"},
	"turn":       {"expert", "turn", "attempt", "contains", "reasoning", "text", "finish", "delay", "usage", "call", "error"},
	"turn.call":  {"id", "tool", "args", "argsText"},
	"turn.error": {"name", "status", "message", "retryable", "retryAfter", "after"},
	"turn.usage": {"input", "output", "reasoning", "cached"},
}

const (
	freeTable = "turn.call.args"

	// maxArgs bounds the names in the arguments of one turn. The decoder compares
	// each name of a table with all others.
	maxArgs = 4096

	// maxDepth bounds how deep arguments nest.
	maxDepth = 64
)

// A nameError is a key that does not belong where it stands.
type nameError struct {
	line    int
	message string
}

func (e *nameError) Error() string { return e.message }

// checkNames looks at the names in a cassette, which the decoder does not do well: it
// takes Text for text. It returns the lines of the [[turn]] headers, for errors that
// the decoder cannot place.
func checkNames(data []byte) (turns []int, err error) {
	w := &walker{data: data, line: 1}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() && w.err == nil {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = ""
			for parts := e.Key(); parts.Next() && w.err == nil; {
				table = w.name(table, parts.Node())
			}
			if e.Kind == unstable.Table {
				w.oneOf(table)
			} else if table == "turn" {
				turns = append(turns, w.line)
				w.args = 0
			}
		case unstable.KeyValue:
			w.keyValue(table, e)
		}
	}
	// A syntax error is left to the decoder, which places it.
	return turns, w.err
}

// A walker goes through a document from top to bottom.
type walker struct {
	data   []byte
	offset int // up to which lines are counted
	line   int
	args   int // names in arguments since the last [[turn]]
	err    error
}

func (w *walker) keyValue(table string, e *unstable.Node) {
	for parts := e.Key(); parts.Next() && w.err == nil; {
		table = w.name(table, parts.Node())
		if !parts.IsLast() || e.Value().Kind == unstable.InlineTable {
			w.oneOf(table)
		}
	}
	w.value(table, e.Value())
}

// oneOf refuses a single table in the place of a list, which the decoder takes.
func (w *walker) oneOf(table string) {
	if w.err == nil && (table == "turn" || table == "turn.call") {
		w.fail("there may be several of %s; write [[%s]]", table, table)
	}
}

func (w *walker) value(table string, v *unstable.Node) {
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next() && w.err == nil; {
			w.keyValue(table, it.Node())
		}
	case unstable.Array:
		if strings.HasPrefix(table, freeTable) {
			table = w.deeper(table)
		}
		for it := v.Children(); it.Next() && w.err == nil; {
			w.value(table, it.Node())
		}
	}
}

// name checks one part of a key in a table, and returns the table below it.
func (w *walker) name(table string, part *unstable.Node) string {
	w.seek(int(part.Raw.Offset))
	name := string(part.Data)
	if strings.HasPrefix(table, freeTable) {
		if w.args++; w.args > maxArgs {
			w.fail("the arguments of a turn have more than %d names", maxArgs)
		}
		return w.deeper(table)
	}
	allowed, isTable := known[table]
	if !isTable {
		return table // not a table, which is for the decoder to say
	}
	if !slices.Contains(allowed, name) {
		where := "the file"
		if table != "" {
			where = "[" + table + "]"
		}
		w.fail("unknown key %q in %s; known are %s", name, where, strings.Join(allowed, ", "))
	}
	return strings.TrimPrefix(table+"."+name, ".")
}

// deeper returns the table a level below one in the arguments. Its name does not matter.
func (w *walker) deeper(table string) string {
	if len(table)-len(freeTable) >= maxDepth {
		w.fail("arguments are nested more than %d deep", maxDepth)
	}
	return table + "."
}

func (w *walker) fail(format string, args ...any) {
	w.err = &nameError{w.line, fmt.Sprintf(format, args...)}
}

// seek counts lines up to an offset. Names come in the order of the document.
func (w *walker) seek(offset int) {
	if offset > w.offset && offset <= len(w.data) {
		w.line += bytes.Count(w.data[w.offset:offset], []byte("\n"))
		w.offset = offset
	}
}
