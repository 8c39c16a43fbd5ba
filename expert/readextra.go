package expert

import (
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What extraBody may hold: it goes along with every request.
const (
	maxExtraDepth = 16
	maxExtraBytes = 64 << 10
	maxExtraName  = 255
)

// extraBody reads members that are added to every request. Which of them the provider
// knows, only the provider can tell; which are perstack's own, its client does.
func (r *reader) extraBody(t *table) map[string]jsontext.Value {
	e := t.sub("extraBody")
	if e == nil {
		return nil
	}
	out, size := map[string]jsontext.Value{}, 0
	for _, name := range e.n.keys {
		n, path := e.n.fields[name], e.at(name)
		if !r.check(&node{at: n.keyAt, text: name}, path, []rule{length(1, maxExtraName), printable}) {
			continue
		}
		value, ok := r.plain(n, path, 1)
		if !ok {
			continue
		}
		text, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			r.fault(n.at, path, "cannot be written as JSON", "") // text that is not UTF-8; the parser refuses it before
			continue
		}
		size += len(name) + len(text)
		out[name] = text
	}
	if size > maxExtraBytes {
		r.fault(e.n.keyAt, e.path, fmt.Sprintf("has %d bytes as JSON", size), fmt.Sprintf("at most %d are allowed, since every request carries it", maxExtraBytes))
	}
	return out
}

// plain turns a value of the file into one that JSON can have.
func (r *reader) plain(n *node, path string, depth int) (value any, ok bool) {
	if depth > maxExtraDepth {
		r.fault(n.at, path, fmt.Sprintf("is nested more than %d deep", maxExtraDepth), "")
		return nil, false
	}
	switch n.kind {
	case kindString:
		return n.text, true
	case kindBool:
		return n.text == "true", true
	case kindInteger:
		return n.number, !n.unreadable
	case kindFloat:
		if math.IsNaN(n.real) || math.IsInf(n.real, 0) {
			r.fault(n.at, path, "is not a number that JSON has", "write a finite number")
			return nil, false
		}
		return n.real, !n.unreadable
	case kindArray:
		list := []any{}
		for i, item := range n.items {
			v, fine := r.plain(item, pathTo(path, fmt.Sprint(i)), depth+1)
			if !fine {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case kindTable:
		object := map[string]any{}
		for _, key := range n.keys {
			v, fine := r.plain(n.fields[key], pathTo(path, key), depth+1)
			if !fine {
				return nil, false
			}
			object[key] = v
		}
		return object, true
	}
	r.fault(n.at, path, "must not be a date or time", "JSON has none: write it as text, in quotes")
	return nil, false
}
