package converse

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

func invalid(format string, args ...any) *script.Problem {
	return script.KindProblem(http.StatusBadRequest, format, args...)
}

// name is what tools, and the ids of calls, look like.
var name = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// A glance is one at a body, by the model that is asked.
type glance struct {
	*request
	model  string
	script *script.Script

	points         int // of the cache, so far
	images, papers int
	documents      map[string]bool // their names
}

func (g *glance) isClaude() bool { return strings.Contains(g.model, "anthropic.claude-") }
func (g *glance) isNova() bool   { return strings.Contains(g.model, "amazon.nova-") }

// check looks at a body as a whole.
func (r *request) check(model string, s *script.Script) *script.Problem {
	g := &glance{request: r, model: model, script: s, documents: map[string]bool{}}
	for _, check := range []func() *script.Problem{
		g.checkSettings, g.checkThinking, g.checkTools, g.checkSystem, g.checkMessages, g.checkPairs, g.checkThoughts,
	} {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

func (g *glance) checkSettings() *script.Problem {
	i := g.Inference
	switch {
	case i.MaxTokens != nil && *i.MaxTokens < 1:
		return invalid("1 validation error detected: Value '%d' at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1", *i.MaxTokens)
	case i.Temperature != nil && (*i.Temperature < 0 || *i.Temperature > 1):
		return invalid("1 validation error detected: Value at 'inferenceConfig.temperature' failed to satisfy constraint: Member must have value less than or equal to 1")
	}
	for _, path := range g.ResponsePaths {
		if !strings.HasPrefix(path, "/") {
			return invalid("The additionalModelResponseFieldPaths has a JSON Pointer that is not valid: %q", path)
		}
	}
	if r := g.Guardrail; r != nil {
		switch {
		case r.Identifier == "" || r.Version == "":
			return invalid("The guardrail identifier and the guardrail version must both be provided.")
		case !slices.Contains([]string{"", "enabled", "disabled", "enabled_full"}, r.Trace):
			return invalid("1 validation error detected: Value '%s' at 'guardrailConfig.trace' failed to satisfy constraint: Member must satisfy enum value set: [ENABLED, DISABLED, ENABLED_FULL]", r.Trace)
		}
	}
	return nil
}

func (g *glance) checkThinking() *script.Problem {
	t := g.Fields.Thinking
	if t == nil || t.Type == "disabled" {
		return nil
	}
	const model = "The model returned the following errors: "
	limit := g.Inference.MaxTokens
	auto := true
	if g.ToolConfig != nil && g.ToolConfig.Choice != nil {
		_, auto = g.ToolConfig.Choice["auto"]
	}
	switch {
	case !g.isClaude() || strings.Contains(g.model, "claude-3-") && !strings.Contains(g.model, "claude-3-7-"):
		return invalid(model + "thinking: Extra inputs are not permitted")
	case t.Type == "adaptive" && t.Budget == 0:
		return nil
	case t.Type != "enabled":
		return invalid(model+"thinking: Input tag '%s' found using 'type' does not match any of the expected tags", t.Type)
	case t.Budget < 1024:
		return invalid(model + "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case limit == nil || *limit <= t.Budget:
		return invalid(model + "`max_tokens` must be greater than `thinking.budget_tokens`")
	case g.Inference.Temperature != nil && *g.Inference.Temperature != 1:
		return invalid(model + "`temperature` may only be set to 1 when thinking is enabled")
	case !auto:
		return invalid(model + "Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (g *glance) checkTools() *script.Problem {
	c := g.ToolConfig
	if c == nil {
		return nil
	}
	seen := map[string]bool{}
	for i, t := range c.Tools {
		switch {
		case (t.Spec == nil) == (t.CachePoint == nil):
			return invalid("The value at toolConfig.tools.%d is empty, or more than one thing.", i)
		case t.CachePoint != nil:
			if i == 0 || g.isNova() {
				return invalid("The cachePoint at toolConfig.tools.%d has nothing to cache, or is not supported by this model.", i)
			}
			if p := g.point(t.CachePoint); p != nil {
				return p
			}
			continue
		}
		var schema struct {
			Type string `json:"type"`
		}
		switch s := t.Spec; {
		case !name.MatchString(s.Name):
			return invalid("1 validation error detected: Value '%s' at 'toolConfig.tools.%d.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", s.Name, i)
		case seen[s.Name]:
			return invalid("The tool name %s is already defined at toolConfig.tools.%d.", s.Name, i)
		case s.Description != nil && *s.Description == "":
			return invalid("1 validation error detected: Value at 'toolConfig.tools.%d.member.toolSpec.description' failed to satisfy constraint: Member must have length greater than or equal to 1", i)
		case json.Unmarshal(s.Schema.JSON, &schema) != nil || schema.Type != "object":
			return invalid("The value at toolConfig.tools.%d.toolSpec.inputSchema.json.type must be one of the following: object.", i)
		}
		seen[t.Spec.Name] = true
	}
	if len(seen) == 0 {
		return invalid("1 validation error detected: Value '[]' at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	if choices := slices.Collect(maps.Keys(c.Choice)); c.Choice != nil && (len(choices) != 1 || !slices.Contains([]string{"auto", "any", "tool"}, choices[0])) {
		return invalid("The toolChoice %q is not one of auto, any and tool.", choices)
	}
	return nil
}

// point counts a point of the cache.
func (g *glance) point(p *cachePoint) *script.Problem {
	g.points++
	switch {
	case p.Type != "default":
		return invalid("1 validation error detected: Value '%s' at 'cachePoint.type' failed to satisfy constraint: Member must satisfy enum value set: [default]", p.Type)
	case g.points > 4:
		return invalid("The maximum number of cache points is 4; the request has %d.", g.points)
	case !g.isNova() && (!g.isClaude() || strings.Contains(g.model, "claude-3-") && !strings.Contains(g.model, "claude-3-7-") && !strings.Contains(g.model, "claude-3-5-haiku")):
		return invalid("You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information.")
	}
	return nil
}

func (g *glance) checkSystem() *script.Problem {
	for i, b := range g.System {
		switch {
		case b.members() != 1 || b.Text == nil && b.CachePoint == nil:
			return invalid("The value at system.%d is not one of text and cachePoint.", i)
		case b.CachePoint != nil && i == 0:
			return invalid("There is nothing available to cache.")
		case b.CachePoint != nil:
			if p := g.point(b.CachePoint); p != nil {
				return p
			}
		case strings.TrimSpace(*b.Text) == "":
			return invalid("The text field in the SystemContentBlock object at system.%d is blank. Add text to the text field, and try again.", i)
		}
	}
	return nil
}
