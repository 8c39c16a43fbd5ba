package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A field is a key of a table and what it holds.
type field struct{ name, holds string }

// What a key can hold, in the words of messages.
const (
	aString   = "a string"
	anInteger = "an integer"
	aBoolean  = "a boolean"
	aTable    = "a table"
	aList     = "an array" // of tables
)

// The keys of each table. Below args, names are free.
var known = map[string][]field{
	"": {{"turn", aList}},
	"turn": {
		{"expert", aString}, {"query", aString}, {"turn", anInteger}, {"attempt", anInteger}, {"contains", aString},
		{"reasoning", aString}, {"text", aString}, {"finish", aString}, {"delay", aString},
		{"usage", aTable}, {"call", aList}, {"error", aTable},
	},
	"turn.call":  {{"id", aString}, {"tool", aString}, {"args", aTable}, {"argsText", aString}},
	"turn.error": {{"name", aString}, {"status", anInteger}, {"message", aString}, {"retryable", aBoolean}, {"retryAfter", aString}, {"after", aString}},
	"turn.usage": {{"input", anInteger}, {"output", anInteger}, {"reasoning", anInteger}, {"cached", anInteger}},
}

// keys are the names of a table's fields.
func keys(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// holds says what belongs at a path such as turn.call.tool, or "" where anything does.
func holds(path string) string {
	table, name := "", path
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		table, name = path[:at], path[at+1:]
	}
	for _, f := range known[table] {
		if f.name == name {
			return f.holds
		}
	}
	return ""
}

// kindOf names the kind of a value that is written in the file.
func kindOf(v *unstable.Node) string {
	switch v.Kind {
	case unstable.String:
		return aString
	case unstable.Integer:
		return anInteger
	case unstable.Float:
		return "a floating-point number"
	case unstable.Bool:
		return aBoolean
	case unstable.Array:
		return aList
	case unstable.InlineTable:
		return aTable
	}
	return "a date or time"
}

const (
	freeTable = "turn.call.args"

	// maxArgs bounds the names in the arguments of one turn. The decoder compares
	// each name of a table with all others.
	maxArgs = 4096

	// maxDepth bounds how deep arguments nest.
	maxDepth = 64
)

// A nameError is a key that does not belong where it stands, or holds what it cannot.
type nameError struct {
	line    int
	message string
}

func (e *nameError) Error() string { return e.message }

// checkNames looks at the names in a cassette and at the kinds of their values, which
// the decoder does not do well: it takes Text for text, and tells a writer of TOML about
// Go structs. It returns the lines of the [[turn]] headers, for errors that the decoder
// cannot place.
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
				w.isTable(table)
				continue
			}
			w.isList(table)
			if table == "turn" {
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
		if !parts.IsLast() {
			w.isTable(table)
		}
	}
	w.value(table, e.Value())
}

// isTable refuses a table where something else belongs. A single table in the place of
// a list is what the decoder would take.
func (w *walker) isTable(path string) {
	switch want := holds(path); want {
	case "", aTable:
	case aList:
		w.fail("there may be several of %s; write [[%s]]", path, path)
	default:
		w.mismatch(path, aTable)
	}
}

// isList refuses a [[header]] where something else belongs.
func (w *walker) isList(path string) {
	if want := holds(path); want != "" && want != aList {
		w.mismatch(path, aList)
	}
}

func (w *walker) mismatch(path, kind string) {
	w.fail("%s must be %s, not %s", path[strings.LastIndexByte(path, '.')+1:], holds(path), kind)
}

// value looks at what a key holds, and at the names inside.
func (w *walker) value(path string, v *unstable.Node) {
	want := holds(path)
	switch {
	case w.err != nil:
	case v.Kind == unstable.InlineTable:
		w.isTable(path)
		for it := v.Children(); it.Next() && w.err == nil; {
			w.keyValue(path, it.Node())
		}
	case v.Kind == unstable.Array && (want == "" || want == aList):
		if want == "" {
			path = w.deeper(path)
		}
		for it := v.Children(); it.Next() && w.err == nil; {
			w.element(path, it.Node())
		}
	case want != "" && want != kindOf(v):
		w.mismatch(path, kindOf(v))
	}
}

// element is value for one of a list.
func (w *walker) element(path string, v *unstable.Node) {
	switch {
	case holds(path) == "":
		w.value(path, v)
	case v.Kind != unstable.InlineTable:
		w.fail("each %s must be a table, not %s", path, kindOf(v))
	default:
		for it := v.Children(); it.Next() && w.err == nil; {
			w.keyValue(path, it.Node())
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
	fields, isTable := known[table]
	if !isTable {
		w.mismatch(table, aTable)
		return table
	}
	if allowed := keys(fields); !slices.Contains(allowed, name) {
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
	if w.err != nil {
		return // the first mistake counts
	}
	w.err = &nameError{w.line, fmt.Sprintf(format, args...)}
}

// seek counts lines up to an offset. Names come in the order of the document.
func (w *walker) seek(offset int) {
	if offset > w.offset && offset <= len(w.data) {
		w.line += bytes.Count(w.data[w.offset:offset], []byte("\n"))
		w.offset = offset
	}
}
