package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/rawjson"
)

// A Body is a request in the making, in pieces that [Client.Post] sends one after
// another. Pieces that were encoded before are shared, not copied.
type Body struct {
	Pieces [][]byte
}

// Text adds a piece of the body's own.
func (b *Body) Text(s string) {
	if s != "" {
		b.Pieces = append(b.Pieces, []byte(s))
	}
}

// Add adds a piece as it is. The caller must not change it any more.
func (b *Body) Add(piece []byte) {
	if len(piece) > 0 {
		b.Pieces = append(b.Pieces, piece)
	}
}

// A List writes the elements of a list into a body, with commas between them.
type List struct {
	Body *Body
	any  bool
}

// Add adds an element, unless it is empty.
func (l *List) Add(element []byte) {
	if len(element) == 0 {
		return
	}
	if l.any {
		l.Body.Add(comma)
	}
	l.any = true
	l.Body.Add(element)
}

var comma = []byte(",")

// Extra is what a user adds to every request by extraBody: members that we do not know,
// or know better than to set. It is never changed.
type Extra map[string]rawjson.Value

// Check refuses members that perstack itself writes.
func (e Extra) Check(provider string, own ...string) error {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		// Some services do not look at the letters' case, and would take the second.
		if slices.ContainsFunc(own, func(o string) bool { return strings.EqualFold(o, name) }) {
			return fmt.Errorf("%s: extraBody cannot set %q, which perstack writes itself; remove it", provider, name)
		}
	}
	return nil
}

// TakeSettings takes an object out of Extra that has members of the wire's own beside the
// user's. A limit of answers in it, if the object has one, becomes MaxTokens: the budget of a
// job is held against it.
func (c *Config) TakeSettings(name, limit string) (settings Extra, err error) {
	raw, ok := c.Extra[name]
	if !ok {
		return nil, nil
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &settings) != nil {
		return nil, fmt.Errorf("%s: %s in extraBody is not an object; write it like %s = { name = value }", c.Provider, name, name)
	}
	c.Extra = maps.Clone(c.Extra)
	delete(c.Extra, name)
	if raw, ok := settings[limit]; ok && limit != "" {
		var tokens int
		if json.Unmarshal(raw, &tokens) != nil || tokens <= 0 {
			return nil, fmt.Errorf("%s: %s.%s in extraBody is not a number above 0", c.Provider, name, limit)
		}
		delete(settings, limit)
		c.MaxTokens = Least(c.MaxTokens, tokens)
	}
	return settings, nil
}

// Has reports whether the user sets a member, so that the wire does not.
func (e Extra) Has(name string) bool { _, ok := e[name]; return ok }

// Object writes an object: members of the wire, and those of the user, which win.
func (e Extra) Object(own Extra) string {
	all := Extra{}
	maps.Copy(all, own)
	maps.Copy(all, e)
	var members Members
	for _, name := range slices.Sorted(maps.Keys(all)) {
		members = append(members, Member{Name: name, Value: all[name]})
	}
	return string(members.Join('{'))
}

// AppendTo adds the members, each with a comma before it.
func (e Extra) AppendTo(b *Body) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		b.Text("," + string(Quote(name)) + ":")
		b.Add(e[name])
	}
}
