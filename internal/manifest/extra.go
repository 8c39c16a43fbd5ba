package manifest

import (
	"fmt"
	"math"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/rawjson"
)

// What extraBody may hold: it goes along with every request.
const (
	maxExtraDepth = 16
	maxExtraBytes = 64 << 10
	maxExtraName  = 255
)

// extraBody reads members that are added to every request. Which of them the provider
// knows, only the provider can tell; which are perstack's own, its client does.
func (r *reader) extraBody(t *toml.Table, p *expert.Provider) {
	e := t.Sub("extraBody")
	if e == nil {
		return
	}
	out, size := map[string]rawjson.Value{}, 0
	for _, name := range e.Node.Keys {
		n := e.Node.Fields[name]
		if !r.Check(n.Name(name), toml.Length(1, maxExtraName), toml.Printable) {
			continue
		}
		value, ok := r.plain(n, 1)
		if !ok {
			continue
		}
		text, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			r.Fault(n.At, n.Path, "cannot be written as JSON", "") // text that is not UTF-8; the parser refuses it before
			continue
		}
		size += len(name) + len(text)
		out[name] = text
	}
	if size > maxExtraBytes {
		r.Fault(e.Node.KeyAt, e.Node.Path, fmt.Sprintf("has %d bytes as JSON", size), fmt.Sprintf("at most %d are allowed, since every request carries it", maxExtraBytes))
	}
	p.Setting.ExtraBody = out
}

// plain turns a value of the file into one that JSON can have.
func (r *reader) plain(n *toml.Node, depth int) (value any, ok bool) {
	if depth > maxExtraDepth {
		r.Fault(n.At, n.Path, fmt.Sprintf("is nested more than %d deep", maxExtraDepth), "")
		return nil, false
	}
	switch n.Kind {
	case toml.KindString:
		return n.Text, true
	case toml.KindBool:
		return n.Text == "true", true
	case toml.KindInteger:
		return n.Number, !n.Unreadable
	case toml.KindFloat:
		if math.IsNaN(n.Real) || math.IsInf(n.Real, 0) {
			r.Fault(n.At, n.Path, "is not a number that JSON has", "write a finite number")
			return nil, false
		}
		return n.Real, !n.Unreadable
	case toml.KindArray:
		list := []any{}
		for _, item := range n.Items {
			v, fine := r.plain(item, depth+1)
			if !fine {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case toml.KindTable:
		object := map[string]any{}
		for _, key := range n.Keys {
			v, fine := r.plain(n.Fields[key], depth+1)
			if !fine {
				return nil, false
			}
			object[key] = v
		}
		return object, true
	}
	r.Fault(n.At, n.Path, "must not be a date or time", "JSON has none: write it as text, in quotes")
	return nil, false
}
