package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/skill/mcp/frame"
)

// The limits of a list of tools. A model chooses badly long before.
const (
	maxTools       = 1_000
	maxPages       = 100
	maxDefinitions = 4 << 20 // bytes, together
	maxToolName    = 128     // bytes
)

// A listing is what a server offers, at one moment.
type listing struct {
	tools       []skill.Tool
	definitions []jsontext.Value // as the server sent them, one for each tool
}

func (l *listing) has(tool string) bool {
	for _, t := range l.tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// A wireList is a page of the list.
type wireList struct {
	Tools jsontext.Value `json:"tools"`
	Next  jsontext.Value `json:"nextCursor"`
}

// A definition is what is kept of a tool, as it was sent: everything that a model or a
// user may be shown, and nothing else.
type definition struct {
	Name         jsontext.Value `json:"name,omitzero"`
	Title        jsontext.Value `json:"title,omitzero"`
	Description  jsontext.Value `json:"description,omitzero"`
	InputSchema  jsontext.Value `json:"inputSchema,omitzero"`
	OutputSchema jsontext.Value `json:"outputSchema,omitzero"`
	Annotations  jsontext.Value `json:"annotations,omitzero"`
}

// list asks for the tools, page by page. A server that has none says so by not naming
// the capability, and is not asked.
func (s *server) list(ctx context.Context) (*listing, error) {
	all := &listing{}
	hello := s.session.InitializeResult()
	if hello == nil || hello.Capabilities == nil || hello.Capabilities.Tools == nil {
		return all, nil
	}
	size, count, seen := 0, 0, make(map[string]bool)
	cursor := ""
	for page := 0; ; page++ {
		if page == maxPages {
			return nil, fmt.Errorf("the list of tools has more than %d pages", maxPages)
		}
		tools, next, err := s.page(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, raw := range tools {
			if size += len(raw); size > maxDefinitions {
				return nil, fmt.Errorf("the definitions of the tools are longer than %d bytes", maxDefinitions)
			}
			if count++; count > maxTools {
				return nil, fmt.Errorf("the list has more than %d tools", maxTools)
			}
			s.skill.take(all, seen, raw)
		}
		if next == "" {
			return all, nil
		}
		cursor = next
	}
}

// page asks for one page of the list.
func (s *server) page(ctx context.Context, cursor string) (tools []jsontext.Value, next string, err error) {
	q := &question{canned: `{"tools":[]}`}
	defer s.guard.forget(q)
	if _, err := s.session.ListTools(asking(ctx, q), &sdk.ListToolsParams{Cursor: cursor}); err != nil {
		return nil, "", err
	}
	var list wireList
	if frame.Check(q.result) != nil || json.Unmarshal(q.result, &list) != nil {
		return nil, "", errNoList
	}
	if tools, _, err = frame.List(list.Tools, maxTools+1); err != nil { // one more is too many
		return nil, "", errNoList
	}
	return tools, textOf(list.Next), nil
}

var errNoList = errors.New("the answer to tools/list is no list of tools")

// take adds a tool to the list, or says why it is left out. A tool that nobody can call
// is no reason to do without the others.
func (s *Skill) take(all *listing, seen map[string]bool, raw jsontext.Value) {
	tool, def, err := define(raw)
	if err == nil && seen[tool.Name] {
		err = errors.New("there are two of this name; the first one counts")
	}
	seen[tool.Name] = true
	if err != nil {
		s.o.Log.Warn("a tool was left out", "skill", s.o.Name, "tool", terminal.RevealLine(clip(tool.Name, maxToolName)), "why", err.Error())
		return
	}
	all.tools = append(all.tools, tool)
	all.definitions = append(all.definitions, def)
}

// define reads the definition of a tool.
func define(raw jsontext.Value) (skill.Tool, jsontext.Value, error) {
	var d definition
	if json.Unmarshal(raw, &d) != nil {
		return skill.Tool{}, nil, errors.New("its definition is no JSON object")
	}
	tool := skill.Tool{
		Name: textOf(d.Name), Title: textOf(d.Title), Description: textOf(d.Description), InputSchema: d.InputSchema,
	}
	if err := checkName(tool.Name); err != nil {
		return tool, nil, err
	}
	if err := checkSchema(d.InputSchema); err != nil {
		return tool, nil, err
	}
	var hints struct {
		Title      jsontext.Value `json:"title"`
		ReadOnly   jsontext.Value `json:"readOnlyHint"`
		Idempotent jsontext.Value `json:"idempotentHint"`
	}
	if d.Annotations.Kind() == '{' && json.Unmarshal(d.Annotations, &hints) == nil {
		// A hint of the server: enough for repeating a call after a crash, not for
		// trusting that a tool only reads.
		tool.Repeatable = hints.ReadOnly.Kind() == 't' || hints.Idempotent.Kind() == 't'
		if tool.Title == "" {
			tool.Title = textOf(hints.Title)
		}
	}
	def, err := json.Marshal(d)
	if err != nil {
		return tool, nil, errors.New("its definition cannot be written again")
	}
	tool.Digest = expert.DefinitionDigest(def)
	return tool, def, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("it has no name")
	case len(name) > maxToolName:
		return fmt.Errorf("its name is longer than %d bytes", maxToolName)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("its name has characters that cannot be seen")
	case strings.TrimSpace(name) != name:
		return errors.New("its name begins or ends with a blank")
	}
	return nil
}

// checkSchema sees to it that the arguments are an object: nothing else can be sent.
func checkSchema(schema jsontext.Value) error {
	var s struct {
		Type jsontext.Value `json:"type"`
	}
	if schema.Kind() != '{' || json.Unmarshal(schema, &s) != nil {
		return errors.New("its inputSchema is no JSON object")
	}
	if textOf(s.Type) != "object" {
		return errors.New(`its inputSchema is not of type "object"`)
	}
	return nil
}
