package replay

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/toml"
)

type field struct{ name, holds string }

// What a key can hold, in the words of messages.
const (
	aString   = "a string"
	anInteger = "an integer"
	aBoolean  = "a boolean"
	aTable    = "a table"
	aList     = "an array" // of tables
)

// freeTable is where names are free.
const freeTable = "turn.call.args"

// The keys of each table.
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

// readTree looks at the names in a cassette and at the kinds of their values, which the
// decoder does not do well: it takes Text for text, and tells a writer of TOML about Go
// structs. It returns the lines of the turns, for errors that the decoder cannot place.
func readTree(name string, data []byte) (turns []int, err error) {
	r, root := toml.ReadTree(name, data)
	if len(r.Problems) == 0 {
		checkTable(r, "", root)
	}
	if len(r.Problems) > 0 { // the first mistake counts
		return nil, fmt.Errorf("%s:%d: %s", name, r.Problems[0].Line, r.Problems[0].Message)
	}
	if list := root.Fields["turn"]; list != nil {
		for _, turn := range list.Items {
			turns = append(turns, r.Line(turn.KeyAt))
		}
	}
	return turns, nil
}

func checkTable(r *toml.Reader, table string, n *toml.Node) {
	for _, key := range n.Keys {
		value := n.Fields[key]
		path := strings.TrimPrefix(table+"."+key, ".")
		want, has := holds(path), value.Kind.String()
		var tables []*toml.Node
		message := ""
		switch {
		case want == "":
			where := "the file"
			if table != "" {
				where = "[" + table + "]"
			}
			message = fmt.Sprintf("unknown key %q in %s; known are %s", key, where, strings.Join(keys(known[table]), ", "))
		case want == aList && has == aTable:
			message = fmt.Sprintf("there may be several of %s; write [[%s]]", path, path)
		case want != has:
			message = fmt.Sprintf("%s must be %s, not %s", key, want, has)
		case want == aList:
			tables = value.Items
		case want == aTable && path != freeTable:
			tables = []*toml.Node{value}
		}
		if message != "" {
			r.Fault(value.KeyAt, "", message, "")
		}
		for _, one := range tables {
			if kind := one.Kind.String(); kind != aTable {
				r.Fault(one.KeyAt, "", fmt.Sprintf("each %s must be a table, not %s", path, kind), "")
			}
			checkTable(r, path, one)
		}
	}
}
