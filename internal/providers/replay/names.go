package replay

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/perstack-go/perstack/internal/toml"
)

// readTree looks at the names in a cassette and at the kinds of their values, which the
// decoder does not do well: it takes Text for text, and tells a writer of TOML about Go
// structs. It returns the lines of the turns, for errors that the decoder cannot place.
func readTree(name string, data []byte) (turns []int, err error) {
	r, root := toml.ReadTree(name, data)
	if len(r.Problems) == 0 {
		checkTable(r, "", root, reflect.TypeFor[fileTable]())
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

// checkTable compares a table with the struct that it is decoded into.
func checkTable(r *toml.Reader, table string, n *toml.Node, into reflect.Type) {
	names, types := fields(into)
	for _, key := range n.Keys {
		value, want := n.Fields[key], types[key]
		path := strings.TrimPrefix(table+"."+key, ".")
		has := value.Kind.String()
		var tables []*toml.Node
		message := ""
		switch {
		case want == nil:
			where := "the file"
			if table != "" {
				where = "[" + table + "]"
			}
			message = fmt.Sprintf("unknown key %q in %s; known are %s", key, where, strings.Join(names, ", "))
		case want.Kind() == reflect.Slice && value.Kind == toml.KindTable:
			message = fmt.Sprintf("there may be several of %s; write [[%s]]", path, path)
		case kinds[want.Kind()] != has:
			message = fmt.Sprintf("%s must be %s, not %s", key, kinds[want.Kind()], has)
		case want.Kind() == reflect.Slice:
			tables, want = value.Items, want.Elem()
		case want.Kind() == reflect.Struct: // in a map, names are free
			tables = []*toml.Node{value}
		}
		if message != "" {
			r.Fault(value.KeyAt, "", message, "")
		}
		for _, one := range tables {
			if one.Kind != toml.KindTable {
				r.Fault(one.KeyAt, "", fmt.Sprintf("each %s must be a table, not %s", path, one.Kind), "")
			}
			checkTable(r, path, one, want)
		}
	}
}

// kinds are what fields hold, in the words of messages.
var kinds = map[reflect.Kind]string{
	reflect.String: toml.KindString.String(), reflect.Int: toml.KindInteger.String(), reflect.Bool: toml.KindBool.String(),
	reflect.Slice: toml.KindArray.String(), reflect.Struct: toml.KindTable.String(), reflect.Map: toml.KindTable.String(),
}

// fields are the keys of a table, in their order, and the types of their values.
func fields(table reflect.Type) (names []string, types map[string]reflect.Type) {
	types = map[string]reflect.Type{}
	for i := range table.NumField() {
		f := table.Field(i)
		if f.Type.Kind() == reflect.Pointer {
			f.Type = f.Type.Elem()
		}
		names = append(names, f.Tag.Get("toml"))
		types[f.Tag.Get("toml")] = f.Type
	}
	return names, types
}
