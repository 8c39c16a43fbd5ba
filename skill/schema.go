package skill

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// A schema is the JSON Schema of a tool's arguments, ready to check some.
//
// It was written by a stranger, so checking has a price limit: a schema can refer to
// itself, or apply two copies of itself at each level, and then an ordinary validator
// never ends or runs out of stack, which nothing can catch. The library reads the
// schema; walk.go applies it and counts.
//
// Whatever is not understood is taken for fulfilled: a reference to somewhere else,
// which is never followed, a regular expression of another language, $dynamicRef,
// unevaluatedProperties. The skill sees the arguments next and has the last word.
type schema struct {
	raw    jsontext.Value
	root   *jsonschema.Schema
	oldRef bool // draft-07: nothing counts beside $ref
	moved  bool // parts have addresses of their own, so references cannot be told

	mu       sync.Mutex // of what is found out while checking
	refs     map[string]*jsonschema.Schema
	patterns map[string]*pattern
}

// A pattern is a regular expression and its size; nil if it is not understood.
type pattern struct {
	*regexp.Regexp
	size int
}

const (
	maxSchema      = 256 << 10 // bytes; what is larger is not checked
	maxSchemaDepth = 64
	maxSchemaWork  = 4 << 20 // bytes times depth: the library reads a level once for each above it
	maxPattern     = 500     // bytes of a regular expression
)

// compileSchema reads a schema; nil when arguments cannot be checked by it.
func compileSchema(raw jsontext.Value) (compiled *schema) {
	defer func() {
		if recover() != nil { // the library met something that nobody thought of
			compiled = nil
		}
	}()
	if len(raw) == 0 || len(raw) > maxSchema || !isShallow(raw, min(maxSchemaDepth, maxSchemaWork/len(raw))) {
		return nil
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil
	}
	ids := bytes.Count(raw, []byte(`"$id"`))
	return &schema{
		raw:      raw,
		root:     &root,
		oldRef:   strings.Contains(root.Schema, "draft-07") || root.Schema == "" && root.Definitions != nil,
		moved:    ids > 1 || ids == 1 && root.ID == "",
		refs:     map[string]*jsonschema.Schema{"#": &root},
		patterns: make(map[string]*pattern),
	}
}

// isShallow reports whether v is valid JSON that is nested no deeper than limit.
func isShallow(v jsontext.Value, limit int) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		_, err := dec.ReadToken()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if dec.StackDepth() > limit {
			return false
		}
	}
}

// refer finds what a reference within the schema stands for; nil for every other.
func (w *walk) refer(ref string) *jsonschema.Schema {
	s := w.schema
	if found, known := s.refs[ref]; known {
		return found
	}
	s.refs[ref] = nil
	rest, local := strings.CutPrefix(ref, "#/")
	if !local || s.moved || strings.Contains(ref, "%") {
		return nil
	}
	path := strings.Split(rest, "/")
	for i, part := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	switch {
	case len(path) == 2 && path[0] == "$defs":
		s.refs[ref] = s.root.Defs[path[1]]
		return s.refs[ref]
	case len(path) == 2 && path[0] == "definitions":
		s.refs[ref] = s.root.Definitions[path[1]]
		return s.refs[ref]
	case !w.spend(len(s.raw) / 16 * len(path)): // for each part of the path it is read again
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

// step goes from a JSON value to a part of it; nil if it has none of that name.
func step(v jsontext.Value, part string) jsontext.Value {
	var members map[string]jsontext.Value
	var items []jsontext.Value
	if json.Unmarshal(v, &members) == nil {
		return members[part]
	}
	i, err := strconv.Atoi(part)
	if err != nil || json.Unmarshal(v, &items) != nil || i < 0 || i >= len(items) {
		return nil
	}
	return items[i]
}

// pattern compiles a regular expression; nil if it cannot be.
func (w *walk) pattern(text string) *pattern {
	s := w.schema
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
