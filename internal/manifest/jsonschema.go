package manifest

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSONSchema describes perstack.toml for editors, which complete keys and mark
// mistakes with it. It is indented JSON and the same bytes at every call.
//
// It is made of the lists and grammars that Parse uses. What Parse accepts, the
// schema accepts; the converse does not hold, because a schema cannot tell a
// private address or a name that is taken. `perstack validate` has the last word.
//
// The dialect is draft-07: that of Taplo, which is behind Even Better TOML in VS Code
// and other editors, and the first with if and then. Editors need not look into
// conditions for completions, so every table lists the keys of all its variants in
// properties, and the conditions only take away what the chosen variant does not
// have. That is also what Parse does while it does not know the variant. Nothing is
// shared through $ref, so that readers of the file need no second place to look.
func JSONSchema() []byte { return encodeSchema(topSchema(), FileName) }

func encodeSchema(root *jsonSchema, title string) []byte {
	root.Schema = "http://json-schema.org/draft-07/schema#"
	root.Title = title
	var b bytes.Buffer
	// It writes plain values to memory, which cannot fail; a test decodes the result.
	_ = json.MarshalWrite(&b, root, jsontext.WithIndent("  "))
	b.WriteByte('\n')
	return b.Bytes()
}

// jsonSchema is as much of draft-07 as perstack.toml needs. Fields are written in
// this order, and not at all when they are zero.
type jsonSchema struct {
	Schema      string   `json:"$schema,omitzero"`
	Title       string   `json:"title,omitzero"`
	Description string   `json:"description,omitzero"`
	Type        string   `json:"type,omitzero"`
	Const       string   `json:"const,omitzero"`
	Enum        []string `json:"enum,omitzero"`
	Default     any      `json:"default,omitzero"`

	Minimum   *int   `json:"minimum,omitzero"` // 0 is a bound too
	Above     *int   `json:"exclusiveMinimum,omitzero"`
	Maximum   int64  `json:"maximum,omitzero"`
	MinLength int    `json:"minLength,omitzero"`
	MaxLength int    `json:"maxLength,omitzero"`
	Pattern   string `json:"pattern,omitzero"`

	Items    *jsonSchema `json:"items,omitzero"`
	MinItems int         `json:"minItems,omitzero"`
	MaxItems int         `json:"maxItems,omitzero"`

	Properties           properties  `json:"properties,omitzero"`
	PropertyNames        *jsonSchema `json:"propertyNames,omitzero"`
	MaxProperties        int         `json:"maxProperties,omitzero"`
	Required             []string    `json:"required,omitzero"`
	AdditionalProperties any         `json:"additionalProperties,omitzero"` // false, or a *jsonSchema

	AnyOf []*jsonSchema `json:"anyOf,omitzero"`
	AllOf []*jsonSchema `json:"allOf,omitzero"`
	Not   *jsonSchema   `json:"not,omitzero"`
	If    *jsonSchema   `json:"if,omitzero"`
	Then  *jsonSchema   `json:"then,omitzero"`

	Taplo map[string]bool `json:"x-taplo,omitzero"` // an extension that Taplo reads
}

// properties keep the order of the parser's lists, in which related keys stand
// together; editors and readers see them in it.
type properties []property

type property struct {
	name string
	is   *jsonSchema
}

// MarshalJSONTo writes an object with the members in order.
func (ps properties) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for _, p := range ps {
		err = errors.Join(err, e.WriteToken(jsontext.String(p.name)), json.MarshalEncode(e, p.is))
	}
	return errors.Join(err, e.WriteToken(jsontext.EndObject))
}

// described is a copy of a schema with a description.
func described(s *jsonSchema, about string) *jsonSchema {
	with := *s
	with.Description = about
	return &with
}

// older is a key or a word of earlier releases: accepted, but not offered.
func older(about string) *jsonSchema {
	return &jsonSchema{Description: about, Taplo: map[string]bool{"hidden": true}}
}

// tablesOf is a table of tables, whose keys are names.
func tablesOf(names, each *jsonSchema) *jsonSchema {
	return &jsonSchema{Type: "object", PropertyNames: names, AdditionalProperties: each}
}

// when puts conditions on a table whose key has a certain value.
func when(key, value string, then *jsonSchema) *jsonSchema {
	is := properties{{key, &jsonSchema{Const: value}}}
	return &jsonSchema{If: &jsonSchema{Properties: is, Required: []string{key}}, Then: then}
}

// Patterns for rules that the parser does not state as a regular expression. They
// are read by ECMAScript, Rust and Go, so they use what is the same in all three.
const (
	anyURL       = `^[hH][tT][tT][pP][sS]?://`
	secureURL    = `^[hH][tT][tT][pP][sS]://`
	notBlank     = `\S`
	oneHostLabel = `^[a-zA-Z0-9-]{1,63}$`
	// A program: not an option, and blanks only in a path.
	program     = `^[^ \t-][^ \t]*$|^[^-][\s\S]*[/\\]|^[/\\]`
	headerName  = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	headerValue = `^[^\x00-\x08\x0a-\x1f\x7f]*$`
)
