// Package schema knows what the arguments of a tool may be. It checks arguments against a
// JSON Schema ([Compile]), and it derives the schema of a tool of ours from the Go struct
// that its arguments are decoded into ([For]).
//
// The schemas of MCP servers are untrusted, so checking has a fixed budget. A
// schema can refer to itself, or apply two copies of itself at each level; an ordinary
// validator would never end, or exhaust the stack, which cannot be recovered from. The
// library parses a schema; walk.go and keywords.go apply it and count the steps.
package schema

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perstack-go/perstack/rawjson"
)

// A Schema is the JSON Schema of a tool's arguments, ready to check some.
//
// A keyword that is not understood counts as fulfilled: a reference to another document,
// which is never fetched, a regular expression of another dialect, $dynamicRef,
// unevaluatedProperties. The skill itself still sees the arguments and has the last word.
type Schema struct {
	raw    rawjson.Value
	root   *jsonschema.Schema
	oldRef bool // draft-07: the keywords beside $ref are ignored
	moved  bool // parts have an $id of their own, so references cannot be resolved

	mu       sync.Mutex // protects what is looked up while checking
	refs     map[string]*jsonschema.Schema
	patterns map[string]*pattern
}

// A pattern is a compiled regular expression and the size of its program.
type pattern struct {
	*regexp.Regexp
	size int
}

const (
	maxSchema      = 256 << 10 // bytes; a larger schema is not used
	maxSchemaDepth = 64
	maxSchemaWork  = 4 << 20 // bytes times depth: the library reads each level once for every level above it
	maxPattern     = 500     // bytes of a regular expression
)

// Compile parses a schema. It returns nil when arguments cannot be checked by it.
func Compile(raw []byte) (compiled *Schema) {
	defer func() {
		if recover() != nil { // a schema that makes the library panic is not used
			compiled = nil
		}
	}()
	if len(raw) == 0 || len(raw) > maxSchema || !rawjson.Value(raw).IsWithin(min(maxSchemaDepth, maxSchemaWork/len(raw))) {
		return nil
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil
	}
	ids := bytes.Count(raw, []byte(`"$id"`))
	return &Schema{
		raw:      raw,
		root:     &root,
		oldRef:   strings.Contains(root.Schema, "draft-07") || root.Schema == "" && root.Definitions != nil,
		moved:    ids > 1 || ids == 1 && root.ID == "",
		refs:     map[string]*jsonschema.Schema{"#": &root},
		patterns: make(map[string]*pattern),
	}
}

// refer resolves a reference within the schema. It returns nil for any other reference.
func (w *walk) refer(ref string) *jsonschema.Schema {
	s := w.Schema
	if found, known := s.refs[ref]; known {
		return found
	}
	s.refs[ref] = nil
	if !strings.HasPrefix(ref, "#/") || s.moved || strings.Contains(ref, "%") {
		return nil
	}
	path := slices.Collect(jsontext.Pointer(ref[1:]).Tokens())
	switch {
	case len(path) == 2 && path[0] == "$defs":
		s.refs[ref] = s.root.Defs[path[1]]
		return s.refs[ref]
	case len(path) == 2 && path[0] == "definitions":
		s.refs[ref] = s.root.Definitions[path[1]]
		return s.refs[ref]
	case !w.spend(len(s.raw) / 16 * len(path)): // the schema is read again for each part of the path
		delete(s.refs, ref)
		return nil
	}
	at := s.raw
	for _, part := range path {
		at = step(at, part)
	}
	var found jsonschema.Schema
	if len(at) == 0 || json.Unmarshal(at, &found) != nil {
		return nil
	}
	s.refs[ref] = &found
	return &found
}

// step returns the member or item of a JSON value that a part of a JSON pointer names, or nil.
func step(v rawjson.Value, part string) rawjson.Value {
	var members map[string]rawjson.Value
	var items []rawjson.Value
	if json.Unmarshal(v, &members) == nil {
		return members[part]
	}
	i, err := strconv.Atoi(part)
	if err != nil || json.Unmarshal(v, &items) != nil || i < 0 || i >= len(items) {
		return nil
	}
	return items[i]
}

// pattern compiles a regular expression. It returns nil if that is not possible.
func (w *walk) pattern(text string) *pattern {
	s := w.Schema
	if p, known := s.patterns[text]; known {
		return p
	}
	s.patterns[text] = nil
	if len(text) > maxPattern {
		return nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil
	}
	w.spend(len(program.Inst))
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	p := &pattern{compiled, len(program.Inst)}
	s.patterns[text] = p
	return p
}
