package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// The limits of a list of tools.
const (
	maxTools       = 1_000
	maxPages       = 100
	maxDefinitions = 4 << 20 // bytes, together
	maxToolName    = 128     // bytes
)

// A listing is what a server offers.
type listing struct {
	tools       []skill.Tool
	definitions []rawjson.Value // all that the server sent of them, one for each tool
}

func (l *listing) has(tool string) bool {
	return slices.ContainsFunc(l.tools, func(t skill.Tool) bool { return t.Name == tool })
}

// A wireList is a page of the list.
type wireList struct {
	Tools rawjson.Value `json:"tools"`
	Next  rawjson.Value `json:"nextCursor"`
}

// A definition has the members of a tool that are kept as they were sent: all that a model or a
// user is shown.
type definition struct {
	Name         rawjson.Value `json:"name,omitzero"`
	Title        rawjson.Value `json:"title,omitzero"`
	Description  rawjson.Value `json:"description,omitzero"`
	InputSchema  rawjson.Value `json:"inputSchema,omitzero"`
	OutputSchema rawjson.Value `json:"outputSchema,omitzero"`
	Annotations  rawjson.Value `json:"annotations,omitzero"`
}

// list requests the tools, page by page, if the server has the capability.
func (s *server) list(ctx context.Context) (*listing, error) {
	all := &listing{}
	hello := s.session.InitializeResult()
	if hello == nil || hello.Capabilities == nil || hello.Capabilities.Tools == nil {
		return all, nil
	}
	size, count := 0, 0
	reader := &lister{skill: s.skill, all: all, seen: make(map[string]bool)}
	defer reader.done(ctx)
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
			reader.take(raw)
		}
		if next == "" {
			return all, nil
		}
		cursor = next
	}
}

// page requests one page of the list.
func (s *server) page(ctx context.Context, cursor string) (tools []rawjson.Value, next string, err error) {
	q := &pendingRequest{canned: `{"tools":[]}`}
	defer s.guard.forget(q)
	if _, err := s.session.ListTools(withPending(ctx, q), &sdk.ListToolsParams{Cursor: cursor}); err != nil {
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

// A lister puts the tools of one list together.
type lister struct {
	skill   *Skill
	all     *listing
	seen    map[string]bool
	leftOut int
	why     []string // a line for each of the first
}

// maxWarnings is how many tools of one list are named in warnings.
const maxWarnings = 20

// take adds a tool to the list, or notes why it is left out.
func (l *lister) take(raw rawjson.Value) {
	tool, name, err := define(raw)
	if err == nil && l.seen[name] {
		err = errors.New("there are two of this name; the first one counts")
	}
	l.seen[name] = true
	if err == nil {
		l.all.tools = append(l.all.tools, Tool(tool))
		l.all.definitions = append(l.all.definitions, tool.Definition)
		return
	}
	if l.leftOut++; l.leftOut <= maxWarnings {
		name = terminal.RevealLine(wording.Cut(l.skill.o.Redact(name), maxToolName))
		l.why = append(l.why, name+": "+err.Error())
	}
}

// done logs which tools were left out, in one line for the server. With Locked, installing
// has told the user already.
func (l *lister) done(ctx context.Context) {
	if l.leftOut == 0 {
		return
	}
	level := slog.LevelWarn
	if l.skill.isLocked() {
		level = slog.LevelDebug
	}
	if more := l.leftOut - maxWarnings; more > 0 {
		l.why = append(l.why, fmt.Sprintf("and %d more", more))
	}
	why := strings.Join(l.why, "; ")
	if l.skill.isNews(why) {
		l.skill.o.Log.Log(ctx, level, wording.Count(l.leftOut, "tool")+" left out", "skill", l.skill.o.Name, "why", why)
	}
}

// isNews reports whether a warning about the list differs from the last one. Servers are listed
// again whenever they say that the list has changed.
func (s *Skill) isNews(warning string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.warning
	s.warning = warning
	return warning != last
}

// define reads the definition of a tool. It returns the name even if the tool is refused.
func define(raw rawjson.Value) (tool lockfile.Tool, name string, err error) {
	var d definition
	if json.Unmarshal(raw, &d) != nil {
		return tool, "", errors.New("its definition is no JSON object")
	}
	name = textOf(d.Name)
	if err := checkName(name); err != nil {
		return tool, name, err
	}
	if err := checkSchema(d.InputSchema); err != nil {
		return tool, name, err
	}
	if needsTask(raw) {
		return tool, name, errors.New("it can be called as a task only, which perstack does not do")
	}
	whole, err := json.Marshal(d)
	if err != nil {
		return tool, name, errors.New("its definition cannot be written again")
	}
	tool, err = lockfile.ParseTool(whole)
	return tool, name, err
}

// needsTask reports whether a server runs a tool only as a task, whose result is asked for
// later. A plain call would always fail.
func needsTask(raw rawjson.Value) bool {
	var t struct {
		Execution struct {
			TaskSupport rawjson.Value `json:"taskSupport"`
		} `json:"execution"`
	}
	return json.Unmarshal(raw, &t) == nil && textOf(t.Execution.TaskSupport) == "required"
}

// Tool returns a tool as it is offered, live or from a lockfile.
func Tool(t lockfile.Tool) skill.Tool {
	return skill.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: t.InputSchema, Repeatable: t.Repeatable, Destructive: t.Destructive, Digest: t.Digest,
	}
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

// checkSchema checks that the arguments are an object: nothing else can be sent.
func checkSchema(schema rawjson.Value) error {
	var s struct {
		Type rawjson.Value `json:"type"`
	}
	if schema.Kind() != '{' || json.Unmarshal(schema, &s) != nil {
		return errors.New("its inputSchema is no JSON object")
	}
	if textOf(s.Type) != "object" {
		return errors.New(`its inputSchema is not of type "object"`)
	}
	return nil
}
