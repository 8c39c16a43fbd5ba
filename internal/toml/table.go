package toml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/wording"
)

// Table reads the keys of one TOML table. Every key that is asked for counts as
// known; Finish reports the others.
type Table struct {
	Reader *Reader
	Node   *Node
	known  []string
	Older  []string // keys of earlier releases: accepted, but not suggested
}

// Rule checks a string. An empty message means that it holds.
type Rule func(s string) (message, hint string)

// Get returns the value of a key, or nil.
func (t *Table) Get(key string) *Node {
	t.Knows(key)
	return t.Node.Fields[key]
}

// Knows accepts keys without reading them.
func (t *Table) Knows(keys ...string) {
	for _, key := range keys {
		if !slices.Contains(t.known, key) {
			t.known = append(t.known, key)
		}
	}
}

// At is the path of a key.
func (t *Table) At(key string) string { return PathTo(t.Node.Path(), key) }

// Want returns the value of a key if it has the kind that is wanted.
func (t *Table) Want(key string, k kind) *Node {
	n := t.Get(key)
	if n == nil || !t.Reader.Is(n, k) {
		return nil
	}
	return n
}

// Is reports whether n has kind k, and the problem if not.
func (r *Reader) Is(n *Node, k kind) bool {
	if n.Kind == k || r.Full() {
		return n.Kind == k
	}
	hint := ""
	switch {
	case k == KindString && n.Kind != KindTable && n.Kind != KindArray:
		hint = "put it in quotes"
	case k == KindArray && n.Kind == KindString:
		hint = "put it in brackets, like " + listOf(n.Text)
	case k == KindInteger && n.Kind == KindFloat:
		hint = "write a whole number"
	case (k == KindInteger || k == KindBool) && n.Kind == KindString:
		hint = "remove the quotes"
	}
	r.Fault(n.At, n.Path(), fmt.Sprintf("must be %s, not %s", k, n.Kind), hint)
	return false
}

// listOf is the array that somebody meant who wrote its entries as one text.
func listOf(text string) string {
	const most = 8 // beyond that, an example does not help
	words := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	if len(words) == 0 || len(words) > most {
		words = []string{text}
	}
	for i, word := range words {
		words[i] = wording.Quote(word)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// Check applies rules until one fails.
func (r *Reader) Check(n *Node, rules ...Rule) bool {
	if r.Full() {
		return false // the file cannot be used, whatever else is in it
	}
	for _, ok := range rules {
		if message, hint := ok(n.Text); message != "" {
			r.Fault(n.At, n.Path(), message, hint)
			return false
		}
	}
	return true
}

// Str reads a string; absent or wrong, it is empty.
func (t *Table) Str(key string, rules ...Rule) string {
	n := t.Want(key, KindString)
	if n == nil || !t.Reader.Check(n, rules...) {
		return ""
	}
	return n.Text
}

// Require is [Table.Str] for a key that must be there.
func (t *Table) Require(key string, rules ...Rule) string {
	s := t.Str(key, rules...)
	if t.Node.Fields[key] == nil {
		t.Reader.Missing(t.Node.KeyAt, t.At(key), "is required", "")
	}
	return s
}

// Strs reads an array of strings of at most limit elements; 0 is no limit. An
// empty array is not nil, an absent one is.
func (t *Table) Strs(key string, limit int, rules ...Rule) []string {
	n := t.Want(key, KindArray)
	if n == nil {
		return nil
	}
	t.Reader.AtMost(n, len(n.Items), limit, "entries")
	out := []string{}
	for _, item := range n.First(limit) {
		if t.Reader.Is(item, KindString) && t.Reader.Check(item, rules...) {
			out = append(out, item.Text)
		}
	}
	return out
}

// First are the elements that count: those beyond the limit are too many
// already and need no checks of their own.
func (n *Node) First(limit int) []*Node {
	if limit > 0 && len(n.Items) > limit {
		return n.Items[:limit]
	}
	return n.Items
}

func (r *Reader) AtMost(n *Node, have, limit int, what string) {
	if limit > 0 && have > limit {
		r.Fault(n.KeyAt, n.Path(), fmt.Sprintf("has %d %s", have, what), fmt.Sprintf("at most %d are allowed", limit))
	}
}

func (t *Table) Bool(key string) bool {
	n := t.Want(key, KindBool)
	return n != nil && n.Text == "true"
}

// Sub reads a table; absent or wrong, it is nil.
func (t *Table) Sub(key string) *Table { return t.SubOr(key, nil) }

// SubOr is Sub with a hint for a value that is no table.
func (t *Table) SubOr(key string, hint func(n *Node) string) *Table {
	n := t.Get(key)
	switch {
	case n == nil:
		return nil
	case n.Kind == KindTable:
		return t.Reader.Table(n)
	case hint != nil:
		t.Reader.Fault(n.At, n.Path(), fmt.Sprintf("must be a table, not %s", n.Kind), hint(n))
	default:
		t.Reader.Is(n, KindTable)
	}
	return nil
}

// Each visits the entries of a table of tables, such as experts and skills.
func (t *Table) Each(visit func(name string, entry *Table)) {
	for _, name := range t.Node.Keys {
		if n := t.Node.Fields[name]; t.Reader.Is(n, KindTable) {
			visit(name, t.Reader.Table(n))
		}
	}
}

// Finish reports the keys that are not known. The hints say where a key
// belongs, the first that has an answer; after them come the keys that look
// alike, and at last the list of what is known here.
func (t *Table) Finish(hints ...func(key string) string) {
	for _, key := range t.Node.Keys {
		if t.Reader.Full() {
			return
		}
		if slices.Contains(t.known, key) || slices.Contains(t.Older, key) {
			continue
		}
		hint := ""
		for _, h := range hints {
			if hint == "" {
				hint = h(key)
			}
		}
		if near := wording.Nearest(key, t.known); hint == "" && near != "" {
			hint = "did you mean " + wording.Quote(near) + "?"
		} else if hint == "" && len(t.known) > 0 {
			hint = "known here: " + strings.Join(t.known, ", ")
		}
		n := t.Node.Fields[key]
		t.Reader.Fault(n.KeyAt, n.Path(), "unknown key", hint)
	}
}

// Length bounds a string, in characters. A text that must have at least one
// may not be made of blanks alone.
func Length(low, high int) Rule {
	return func(s string) (string, string) {
		switch n := utf8.RuneCountInString(s); {
		case low > 0 && strings.TrimSpace(s) == "":
			return "is empty", "write something or remove the key"
		case n > high:
			return fmt.Sprintf("has %d characters", n), fmt.Sprintf("at most %d are allowed", high)
		}
		return "", ""
	}
}

// OneOf accepts the words of a closed list.
func OneOf(words ...string) Rule {
	return func(s string) (string, string) {
		if slices.Contains(words, s) {
			return "", ""
		}
		return "unknown value " + wording.Quote(s), wording.DidYouMean(s, words)
	}
}

// Printable refuses characters that cannot be seen: with them, two names look the same.
func Printable(s string) (string, string) {
	for _, c := range s {
		if !strconv.IsPrint(c) {
			return fmt.Sprintf("has an invisible character (%U)", c), "remove it"
		}
	}
	return "", ""
}

// NoNUL refuses what no program argument and no path can hold.
func NoNUL(s string) (string, string) {
	if strings.ContainsRune(s, 0) {
		return "has a NUL character", "remove it"
	}
	return "", ""
}

// Table reads the keys of n.
func (r *Reader) Table(n *Node) *Table { return &Table{Reader: r, Node: n} }

// EachItem visits the entries of an array of tables, at most limit of them; 0 is no limit.
func (t *Table) EachItem(key string, limit int, visit func(entry *Table)) {
	n := t.Want(key, KindArray)
	if n == nil {
		return
	}
	t.Reader.AtMost(n, len(n.Items), limit, "entries")
	for _, item := range n.First(limit) {
		if t.Reader.Is(item, KindTable) {
			visit(t.Reader.Table(item))
		}
	}
}
