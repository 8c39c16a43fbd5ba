package gemini

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// A schema is what the service knows of JSON Schema.
type schema struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Nullable    bool              `json:"nullable"`
	Format      string            `json:"format"`
	Enum        []string          `json:"enum"`
	MinLength   int64             `json:"minLength"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Items       *schema           `json:"items"`
	AnyOf       []schema          `json:"anyOf"`
}

func (s *schema) check(at string) *script.Problem {
	formats := map[string][]string{"string": {"", "enum", "date-time"}, "number": {"", "float", "double"}, "integer": {"", "int32", "int64"}}
	if len(s.AnyOf) > 0 {
		if s.Type != "" || s.Description != "" || s.Nullable || len(s.Properties) > 0 {
			return invalid("%s: schema specified other fields alongside any_of. When using any_of, it must be the only field set.", at)
		}
		for i := range s.AnyOf {
			if p := s.AnyOf[i].check(at + ".any_of[" + itoa(i) + "]"); p != nil {
				return p
			}
		}
		return nil
	}
	kind := strings.ToLower(s.Type)
	switch {
	case !slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, kind):
		return invalid("%s.type: must be specified, got %q", at, s.Type)
	case kind == "array" && s.Items == nil:
		return invalid("%s.items: missing field.", at)
	case len(s.Enum) > 0 && kind != "string":
		return invalid("%s.enum: only allowed for STRING type", at)
	case slices.Contains(s.Enum, ""):
		return invalid("%s.enum: cannot be empty", at)
	case formats[kind] != nil && !slices.Contains(formats[kind], s.Format), formats[kind] == nil && s.Format != "":
		return invalid("%s.format: only 'enum' and 'date-time' are supported for STRING type, got %q", at, s.Format)
	case kind != "object" && len(s.Properties) > 0:
		return invalid("%s.properties: only allowed for OBJECT type", at)
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return invalid("%s.required[%s]: property is not defined", at, name)
		}
	}
	for name, one := range s.Properties {
		if p := one.check(at + ".properties[" + name + "]"); p != nil {
			return p
		}
	}
	if s.Items != nil {
		return s.Items.check(at + ".items")
	}
	return nil
}

func (r *request) checkTools() *script.Problem {
	seen := map[string]bool{}
	hosted := false
	for _, t := range r.Tools {
		if r.in.vertex && t.FileSearch != nil || !r.in.vertex && t.Enterprise != nil {
			return invalid("Invalid JSON payload received. Unknown name of a tool: Cannot find field.")
		}
		if t.FileSearch != nil && len(t.FileSearch.Stores) == 0 {
			return invalid("file_search_store_names: must not be empty.")
		}
		hosted = hosted || t.GoogleSearch != nil || t.CodeExecution != nil || t.URLContext != nil || t.GoogleMaps != nil || t.Enterprise != nil || t.FileSearch != nil
		for i, f := range t.Functions {
			at := "* GenerateContentRequest.tools[0].function_declarations[" + itoa(i) + "]"
			switch {
			case !functionName.MatchString(f.Name):
				return invalid("%s.name: Invalid function name. Must start with a letter or an underscore.", at)
			case seen[f.Name]:
				return invalid("Duplicate function declaration found: %s", f.Name)
			}
			seen[f.Name] = true
			if f.Parameters == nil {
				continue
			}
			if f.Parameters.Type != "object" || len(f.Parameters.Properties) == 0 {
				return invalid("%s.parameters.properties: should be non-empty for OBJECT type", at)
			}
			if p := f.Parameters.check(at + ".parameters"); p != nil {
				return p
			}
		}
	}
	return r.checkMix(hosted, len(seen))
}

func (r *request) checkMix(hosted bool, functions int) *script.Problem {
	c := r.ToolConfig
	serverSide := c != nil && c.ServerSide
	switch {
	case serverSide && r.in.vertex:
		return invalid("Invalid JSON payload received. Unknown name \"includeServerSideToolInvocations\" at 'tool_config': Cannot find field.")
	case hosted && functions > 0 && r.in.vertex:
		return invalid("Multiple tools are supported only when they are all search tools.")
	case hosted && functions > 0 && !r.third:
		return invalid("Built-in tools and Function Calling cannot be combined in the same request.")
	case hosted && functions > 0 && !serverSide:
		return invalid("Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.")
	case c == nil || c.Calling == nil:
		return nil
	case functions == 0:
		return invalid("Function calling config is set without function_declarations.")
	case !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, c.Calling.Mode):
		return invalid("Invalid value at 'tool_config.function_calling_config.mode': %q", c.Calling.Mode)
	}
	return nil
}

// budgets are what models take for thinking: the least and the most, and whether it can be
// switched off.
var budgets = []struct {
	name        string
	least, most int
	off         bool
}{
	{"gemini-2.5-flash-lite", 512, 24576, true},
	{"gemini-2.5-flash", 1, 24576, true},
	{"gemini-2.5-pro", 128, 32768, false},
}

func (r *request) checkGeneration() *script.Problem {
	g := r.Generation
	if n := g.MaxOutputTokens; n != nil && (*n < 1 || *n > 65536) {
		return invalid("Unable to submit request because it has a maxOutputTokens value of %d but the supported range is from 1 (inclusive) to 65537 (exclusive).", *n)
	}
	for _, s := range r.Safety {
		if !strings.HasPrefix(s.Category, "HARM_CATEGORY_") || s.Threshold == "" {
			return invalid("Invalid value at 'safety_settings.category': %q", s.Category)
		}
	}
	t := g.Thinking
	if t == nil {
		return nil
	}
	second := strings.HasPrefix(r.model, "gemini-2.5")
	switch {
	case !second && !r.third:
		return invalid("Thinking is not enabled for models/%s", r.model)
	case t.Budget != nil && t.Level != "":
		return invalid("You can only set only one of thinking budget and thinking level.")
	case t.Level != "" && !r.third:
		return invalid("Thinking level is not supported for this model.")
	case t.Level != "" && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, t.Level),
		(t.Level == "MINIMAL" || t.Level == "MEDIUM") && strings.HasPrefix(r.model, "gemini-3-pro"):
		return invalid("Thinking level %s is not supported for this model. Please retry with other thinking level.", t.Level)
	case t.Budget == nil:
		return nil
	}
	for _, b := range budgets {
		if !strings.HasPrefix(r.model, b.name) {
			continue
		}
		switch n := *t.Budget; {
		case n == 0 && b.off, n == -1:
		case n == 0:
			return invalid("Budget 0 is invalid. This model only works in thinking mode.")
		case n < b.least || n > b.most:
			return invalid("The thinking budget %d is invalid. Please choose a value between %d and %d.", n, b.least, b.most)
		}
		break
	}
	return nil
}
