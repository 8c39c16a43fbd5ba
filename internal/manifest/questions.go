package manifest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// toolPattern is what all providers accept as the name of a tool.
const toolPattern = `^[a-zA-Z0-9_-]{1,64}$`

var toolGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(toolPattern) })

// questionKeys are the keys of a tool of an interactive skill.
func questionKeys() []key[expert.InteractiveTool] {
	type T = expert.InteractiveTool
	return []key[T]{
		row("description", "What the model reads about the question.", text(0, 2048), func(t *T, s string) { t.Description = s }),
		row("inputJsonSchema", "JSON Schema of the arguments, as text.", text(1, 20480, jsonObject, argumentSchema), func(t *T, s string) { t.InputSchema = []byte(s) }).
			required("give a JSON Schema as text"),
	}
}

func toolsSchema() *jsonSchema {
	each := schemaOf("A question that the model can ask the user.", questionKeys())
	each.Properties = append(each.Properties, property{"name", older("Ignored: the key of the table is the name.")})
	s := tablesOf(&jsonSchema{Type: "string", Pattern: toolPattern}, each)
	s.MaxProperties = maxTools
	return s
}

// questions reads the tools of an interactive skill.
func (r *reader) questions(t *toml.Table, s *expert.Skill) {
	tools := t.Sub("tools")
	if tools == nil {
		return
	}
	r.AtMost(tools.Node, len(tools.Node.Keys), maxTools, "tools")
	keys := questionKeys()
	tools.Each(func(name string, entry *toml.Table) {
		if !toolGrammar().MatchString(name) {
			r.Fault(entry.Node.KeyAt, entry.Node.Path(), "is not a tool name that providers accept", "use letters, digits, _ and -, at most 64 of them")
		}
		entry.Older = []string{"name"} // the table key counts
		tool := expert.InteractiveTool{Name: name, InputSchema: []byte{}}
		readKeys(r, entry, keys, &tool)
		entry.Finish()
		s.Tools = append(s.Tools, tool)
	})
}

// schemaTypes are the words that the keyword type of JSON Schema knows.
var schemaTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// jsonObject accepts the text of one JSON object without repeated names.
func jsonObject(s string) (string, string) {
	const hint = `write a JSON Schema between ''' and ''', like '{"type": "object"}'`
	d := jsontext.NewDecoder(strings.NewReader(s))
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		return "is not a JSON object", hint
	}
	for {
		_, err := d.ReadToken()
		switch {
		case err != nil:
			return "is not JSON: " + wording.Visible(jsonFault(err)), hint
		case d.StackDepth() > 2*toml.MaxDepth:
			return fmt.Sprintf("is nested more than %d deep", 2*toml.MaxDepth), "simplify the schema"
		case d.StackDepth() > 0:
			continue
		}
		if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
			return "has text after the JSON object", hint
		}
		return "", ""
	}
}

// jsonFault says what is wrong and where, without the prefix of the library.
func jsonFault(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && syntax.Err != nil:
		return fmt.Sprintf("%v at byte %d", syntax.Err, syntax.ByteOffset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return err.Error()
}

// argumentSchema accepts a schema that a provider takes as the arguments of a
// tool: an object, whose properties have types that exist. What else a schema
// may say is left to the provider; these are the mistakes that people make.
func argumentSchema(s string) (string, string) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(s), &schema); err != nil {
		return "is not JSON: " + wording.Visible(err.Error()), "" // jsonObject has seen it before
	}
	if v, ok := schema["type"]; ok && v != "object" {
		return `type must be "object", not ` + jsonShown(v), "the arguments of a tool have names"
	}
	if v, ok := schema["required"]; ok {
		names, isArray := v.([]any)
		if !isArray {
			return "required must be an array of names, not " + jsonShown(v), ""
		}
		for _, name := range names {
			if _, isText := name.(string); !isText {
				return "required must hold names, not " + jsonShown(name), ""
			}
		}
	}
	v, ok := schema["properties"]
	properties, isObject := v.(map[string]any)
	if ok && !isObject {
		return "properties must be an object, not " + jsonShown(v), ""
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if message, hint := propertySchema(toml.PathTo("properties", name), properties[name]); message != "" {
			return message, hint
		}
	}
	return "", ""
}

// propertySchema checks the type of one property: a word, or several to choose from.
func propertySchema(path string, v any) (string, string) {
	property, isObject := v.(map[string]any)
	if _, any := v.(bool); !isObject && !any {
		return path + " must be an object, not " + jsonShown(v), ""
	}
	words, several := property["type"].([]any)
	if is, ok := property["type"]; ok && !several {
		words = []any{is}
	}
	for _, word := range words {
		name, isText := word.(string)
		if !isText {
			return path + ".type must be a name, not " + jsonShown(word), "use " + wording.Or(schemaTypes)
		}
		if !slices.Contains(schemaTypes, name) {
			return path + ".type: unknown type " + wording.Quote(name), wording.DidYouMean(name, schemaTypes)
		}
	}
	return "", ""
}

// jsonShown is a JSON value in a message: a string as it is, of the rest the kind.
func jsonShown(v any) string {
	switch v := v.(type) {
	case string:
		return wording.Quote(v)
	case float64:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "null"
}
