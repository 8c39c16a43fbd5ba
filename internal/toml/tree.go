package toml

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

const (
	// MaxDepth bounds how deep tables and arrays may nest. The deepest key that
	// perstack.toml knows is six levels down.
	MaxDepth = 32

	// maxKeys bounds the keys of one table. The decoder of go-toml compares
	// each with all others, which takes many seconds for a megabyte of them.
	maxKeys = 1024

	// maxValues bounds the values, tables and keys of a file. A lockfile of 16 MiB can have millions,
	// which take seconds to read.
	maxValues = 250_000
)

type kind int

// The kinds of values.
const (
	KindString kind = iota + 1
	KindInteger
	KindFloat
	KindBool
	kindDate
	KindArray
	KindTable
)

// String names the kind with its article, for "must be a string, not …".
func (k kind) String() string {
	return [...]string{"nothing", "a string", "an integer", "a floating-point number", "a boolean", "a date or time", "an array", "a table"}[k]
}

// Node is a TOML value together with the place where it is written. The
// decoder of go-toml gives values without places and folds letter case when it
// fills structs, so the file is read into this small tree instead.
type Node struct {
	Kind     kind
	parent   *Node  // nil for the whole file
	key      string // in the parent; the index of an element
	At       int    // offset of the value, or of its key where the parser does not tell
	KeyAt    int    // offset of the key, or of the value for elements of arrays
	Text     string
	Number   int64
	Real     float64 // of a floating-point number
	Items    []*Node
	Keys     []string // in file order
	Fields   map[string]*Node
	depth    int
	place    place
	explicit bool // has a [header] of its own
	headed   bool // an array made of [[headers]]

	Unreadable bool // a number that does not fit; the decoder reports it
}

// Path returns the dotted path of the value, such as experts.a.instruction. It is not kept:
// together, the paths of many values below long keys are far larger than the file.
func (n *Node) Path() string {
	if n.parent == nil {
		return ""
	}
	return PathTo(n.parent.Path(), n.key)
}

// duplicate is a key that is given a second time.
type duplicate struct {
	of        *Node
	at, first int
}

// builder makes the tree. It is lenient: what TOML forbids beyond plain
// repetition is found by the real decoder, and a builder that meets it only has
// to continue without harm.
type builder struct {
	parser unstable.Parser
	twice  []duplicate

	// excess says which limit the file breaks, and excessAt where. The builder stops there.
	excess   string
	excessAt int

	decoder decoderCost
	values  int
}

func (b *builder) count(at int) {
	if b.values++; b.values > maxValues {
		b.exceed(at, fmt.Sprintf("the file has more than %d values", maxValues))
	}
}

// search looks a key of a table up, and counts what the decoder does for it.
func (b *builder) search(t *Node, key string, at int) *Node {
	found := t.Fields[key]
	b.decoder.search(t, found)
	if b.decoder.steps > maxSteps {
		b.exceed(at, "the file has too many tables and keys to be read in time")
	}
	return found
}

func (b *builder) exceed(at int, message string) {
	if b.excess == "" {
		b.excess, b.excessAt = message, at
	}
}

// build reads as much of data as the syntax allows. The error is the syntax
// error that stopped it.
func (b *builder) build(data []byte) (*Node, error) {
	b.parser.Reset(data)
	root := &Node{Kind: KindTable, Fields: map[string]*Node{}}
	current := root
	for b.excess == "" && b.parser.NextExpression() {
		e := b.parser.Expression()
		b.count(int(e.Raw.Offset))
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = b.header(root, e)
		case unstable.KeyValue:
			b.assign(current, e)
		}
	}
	return root, b.parser.Error()
}

// child makes the node of a key of a table, or of an element of an array.
func (b *builder) child(parent *Node, key string, at int) *Node {
	n := &Node{parent: parent, key: key, At: at, KeyAt: at, depth: parent.depth + 1}
	b.decoder.add(n)
	b.count(at)
	if n.depth > MaxDepth {
		b.exceed(at, fmt.Sprintf("tables and arrays are nested more than %d deep", MaxDepth))
	}
	return n
}

func (b *builder) table(parent *Node, key string, at int) *Node {
	n := b.child(parent, key, at)
	n.Kind, n.Fields = KindTable, map[string]*Node{}
	return n
}

// set gives a table a new key.
func (b *builder) set(t *Node, key string, child *Node) {
	t.Keys = append(t.Keys, key)
	t.Fields[key] = child
	if len(t.Keys) > maxKeys {
		b.exceed(child.KeyAt, fmt.Sprintf("a table has more than %d keys", maxKeys))
	}
}

// header finds or makes the table that a [header] or [[header]] opens.
func (b *builder) header(root *Node, e *unstable.Node) *Node {
	t, key, at := b.descend(root, e)
	old := b.search(t, key, at)
	if e.Kind == unstable.ArrayTable {
		if old == nil {
			old = b.child(t, key, at)
			old.Kind, old.headed = KindArray, true
			b.set(t, key, old)
		}
		b.decoder.clear(old)
		if !old.headed {
			return b.table(t, key, at) // the decoder refuses it
		}
		fresh := b.table(old, strconv.Itoa(len(old.Items)), at)
		fresh.depth-- // the number in the array is no level of the file
		old.Items = append(old.Items, fresh)
		return fresh
	}
	switch {
	case old == nil:
		old = b.table(t, key, at)
		b.set(t, key, old)
	case old.Kind != KindTable:
		return b.table(t, key, at)
	case old.explicit:
		b.twice = append(b.twice, duplicate{old, at, old.KeyAt})
	default:
		old.At, old.KeyAt = at, at // the header is the better place to point at
	}
	old.explicit = true
	return old
}

// assign puts the value of a key = value line into its table.
func (b *builder) assign(t *Node, e *unstable.Node) {
	t, key, at := b.descend(t, e)
	if b.excess != "" {
		return
	}
	if old := b.search(t, key, at); old != nil {
		b.twice = append(b.twice, duplicate{old, at, old.KeyAt})
		return
	}
	n := b.child(t, key, at)
	b.value(n, e.Value())
	b.set(t, key, n)
}

// descend walks all but the last part of a dotted key, making tables on the
// way, and returns the last part and its offset.
func (b *builder) descend(t *Node, e *unstable.Node) (table *Node, key string, at int) {
	for it := e.Key(); it.Next() && b.excess == ""; {
		part := it.Node()
		key, at = string(part.Data), int(part.Raw.Offset)
		if it.IsLast() {
			break
		}
		next := b.search(t, key, at)
		if next != nil && next.headed {
			next = next.Items[len(next.Items)-1]
		}
		if next == nil || next.Kind != KindTable {
			fresh := b.table(t, key, at)
			if next == nil {
				b.set(t, key, fresh)
			}
			next = fresh
		}
		t = next
	}
	return t, key, at
}

// value fills the node of a value, which stands at its key or after it.
func (b *builder) value(n *Node, v *unstable.Node) {
	if v.Raw.Length > 0 {
		n.At = int(v.Raw.Offset)
	}
	switch v.Kind {
	case unstable.String:
		n.Kind, n.Text = KindString, string(v.Data)
	case unstable.Integer:
		n.Kind = KindInteger
		number, err := strconv.ParseInt(strings.ReplaceAll(string(v.Data), "_", ""), 0, 64)
		n.Number, n.Unreadable = number, err != nil
	case unstable.Float:
		n.Kind = KindFloat
		number, err := strconv.ParseFloat(strings.ReplaceAll(string(v.Data), "_", ""), 64)
		n.Real, n.Unreadable = number, errors.Is(err, strconv.ErrRange)
		if err != nil { // such as -nan, which TOML knows: it must not pass for an absent key
			n.Real = math.NaN()
		}
	case unstable.Bool:
		n.Kind, n.Text = KindBool, string(v.Data)
	case unstable.Array:
		n.Kind = KindArray
		for it := v.Children(); it.Next() && b.excess == ""; {
			item := b.child(n, strconv.Itoa(len(n.Items)), n.At)
			b.value(item, it.Node())
			item.KeyAt = item.At
			n.Items = append(n.Items, item)
		}
	case unstable.InlineTable:
		n.Kind, n.Fields, n.explicit = KindTable, map[string]*Node{}, true
		for it := v.Children(); it.Next() && b.excess == ""; {
			b.assign(n, it.Node())
		}
	default:
		n.Kind = kindDate
	}
}

// offset is where a syntax error points, or the end of the data.
func (b *builder) offset(err error) int {
	data := b.parser.Data()
	if syntax, ok := errors.AsType[*unstable.ParserError](err); ok && syntax.Highlight != nil {
		// The highlight is a slice of data, so its capacity tells its place.
		if at := cap(data) - cap(syntax.Highlight); at >= 0 && at <= len(data) {
			return at
		}
	}
	return len(data)
}

// Name is the key of a node as a value of its own, so that rules can check it.
func (n *Node) Name(key string) *Node {
	return &Node{parent: n.parent, key: n.key, At: n.KeyAt, Text: key}
}

// Amount is a number of either kind.
func (n *Node) Amount() float64 {
	if n.Kind == KindInteger {
		return float64(n.Number)
	}
	return n.Real
}
