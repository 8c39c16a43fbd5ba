package expert

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// table reads the keys of one TOML table. Every key that is asked for counts as
// known; finish reports the others. So the code that reads a key is also the
// list of keys, and the two cannot differ.
type table struct {
	r     *reader
	n     *node
	path  string
	known []string
	older []string // keys of earlier releases: accepted, but not suggested
}

// rule checks a string. An empty message means that it holds.
type rule func(s string) (message, hint string)

// get returns the value of a key, or nil.
func (t *table) get(key string) *node {
	t.known = append(t.known, key)
	return t.n.fields[key]
}

// knows accepts keys without reading them.
func (t *table) knows(keys ...string) { t.known = append(t.known, keys...) }

func (t *table) at(key string) string { return pathTo(t.path, key) }

// want returns the value of a key if it has the kind that is wanted.
func (t *table) want(key string, k kind) *node {
	n := t.get(key)
	if n == nil || !t.r.is(n, k, t.at(key)) {
		return nil
	}
	return n
}

// is reports whether n has kind k, and the problem if not.
func (r *reader) is(n *node, k kind, path string) bool {
	if n.kind == k {
		return true
	}
	hint := ""
	switch {
	case k == kindString && n.kind != kindTable && n.kind != kindArray:
		hint = "put it in quotes"
	case k == kindArray && n.kind == kindString:
		hint = "put it in brackets, like [" + quote(n.text) + "]"
	case k == kindInteger && n.kind == kindFloat:
		hint = "write a whole number"
	case (k == kindInteger || k == kindBool) && n.kind == kindString:
		hint = "remove the quotes"
	}
	r.fault(n.at, path, fmt.Sprintf("must be %s, not %s", k, n.kind), hint)
	return false
}

// check applies rules until one fails.
func (r *reader) check(n *node, path string, rules []rule) bool {
	for _, ok := range rules {
		if message, hint := ok(n.text); message != "" {
			r.fault(n.at, path, message, hint)
			return false
		}
	}
	return true
}

// str reads a string; absent or wrong, it is empty.
func (t *table) str(key string, rules ...rule) string {
	n := t.want(key, kindString)
	if n == nil || !t.r.check(n, t.at(key), rules) {
		return ""
	}
	return n.text
}

// require is str for a key that must be there.
func (t *table) require(key, hint string, rules ...rule) string {
	s := t.str(key, rules...)
	if t.n.fields[key] == nil {
		t.r.missing(t.n.keyAt, t.at(key), "is required", hint)
	}
	return s
}

// strs reads an array of strings of at most limit elements; 0 is no limit. An
// empty array is not nil, an absent one is.
func (t *table) strs(key string, limit int, rules ...rule) []string {
	n := t.want(key, kindArray)
	if n == nil {
		return nil
	}
	t.r.atMost(n, t.at(key), len(n.items), limit, "entries")
	out := []string{}
	for i, item := range n.first(limit) {
		path := pathTo(t.at(key), strconv.Itoa(i))
		if t.r.is(item, kindString, path) && t.r.check(item, path, rules) {
			out = append(out, item.text)
		}
	}
	return out
}

// first are the elements that count: those beyond the limit are too many
// already and need no checks of their own.
func (n *node) first(limit int) []*node {
	if limit > 0 && len(n.items) > limit {
		return n.items[:limit]
	}
	return n.items
}

func (r *reader) atMost(n *node, path string, have, limit int, what string) {
	if limit > 0 && have > limit {
		r.fault(n.keyAt, path, fmt.Sprintf("has %d %s", have, what), fmt.Sprintf("at most %d are allowed", limit))
	}
}

func (t *table) boolean(key string) bool {
	n := t.want(key, kindBool)
	return n != nil && n.text == "true"
}

// integer reads a whole number of at least low; absent, it is nil.
func (t *table) integer(key string, low int64) *int {
	n := t.want(key, kindInteger)
	if n == nil || n.unreadable {
		return nil
	}
	if n.number < low || n.number > math.MaxInt32 {
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be between %d and %d", low, math.MaxInt32), "")
		return nil
	}
	v := int(n.number)
	return &v
}

// milliseconds reads a time that is not zero and at most limit; absent, it is 0.
func (t *table) milliseconds(key string, limit time.Duration) time.Duration {
	n := t.want(key, kindInteger)
	if n == nil || n.unreadable {
		return 0
	}
	if n.number < 1 || n.number > limit.Milliseconds() {
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be between 1 and %d", limit.Milliseconds()), "it is a number of milliseconds")
		return 0
	}
	return time.Duration(n.number) * time.Millisecond
}

// bytes reads a number of bytes, which may be larger than other numbers.
func (t *table) bytes(key string) *int64 {
	n := t.want(key, kindInteger)
	if n == nil || n.unreadable {
		return nil
	}
	if n.number < 1 {
		t.r.fault(n.at, t.at(key), "must be at least 1", "remove the key for no limit")
		return nil
	}
	return &n.number
}

// sub reads a table; absent or wrong, it is nil.
func (t *table) sub(key string) *table {
	n := t.want(key, kindTable)
	if n == nil {
		return nil
	}
	return &table{r: t.r, n: n, path: t.at(key)}
}

// each visits the entries of a table of tables, such as experts and skills.
func (t *table) each(visit func(name string, entry *table)) {
	for _, name := range t.n.keys {
		n, path := t.n.fields[name], t.at(name)
		if t.r.is(n, kindTable, path) {
			visit(name, &table{r: t.r, n: n, path: path})
		}
	}
}

// finish reports the keys that nobody asked for. The hints say where a key
// belongs, the first that has an answer; after them come the keys that look
// alike, and at last the list of what is known here.
func (t *table) finish(hints ...func(key string) string) {
	for _, key := range t.n.keys {
		if slices.Contains(t.known, key) || slices.Contains(t.older, key) {
			continue
		}
		hint := ""
		for _, h := range hints {
			if hint == "" {
				hint = h(key)
			}
		}
		if n := nearest(key, t.known); hint == "" && n != "" {
			hint = "did you mean " + quote(n) + "?"
		}
		if hint == "" && len(t.known) > 0 {
			hint = "known here: " + strings.Join(t.known, ", ")
		}
		t.r.fault(t.n.fields[key].keyAt, t.at(key), "unknown key", hint)
	}
}

// length bounds a string, in characters. A text that must have at least one
// may not be made of blanks alone.
func length(low, high int) rule {
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

// oneOf accepts the words of a closed list.
func oneOf(words ...string) rule {
	return func(s string) (string, string) {
		if slices.Contains(words, s) {
			return "", ""
		}
		return "unknown value " + quote(s), didYouMean(s, words)
	}
}

// printable refuses characters that cannot be seen: nobody reviews a name that
// shows as another.
func printable(s string) (string, string) {
	for _, c := range s {
		if !strconv.IsPrint(c) {
			return fmt.Sprintf("has an invisible character (%U)", c), "remove it"
		}
	}
	return "", ""
}

// noNUL refuses what no program argument and no path can hold.
func noNUL(s string) (string, string) {
	if strings.ContainsRune(s, 0) {
		return "has a NUL character", "remove it"
	}
	return "", ""
}
