// Package proposal offers the tool by which an Expert proposes a plan to the user.
//
// The package never runs anything. The engine knows the tool by its kind, and asks the user where
// another tool would be called. Start reading at [New].
package proposal

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

//go:embed proposePlan.md
var description string

const schema = `{"type":"object","properties":{"plan":{"type":"string","minLength":1,"description":"the whole plan, as Markdown"}},"required":["plan"],"additionalProperties":false}`

// New returns the skill.
func New() skill.Skill { return proposal{} }

type proposal struct{}

func (proposal) Name() string { return event.PlanSkill }

func (proposal) Tools(context.Context) ([]skill.Tool, error) {
	return []skill.Tool{{
		Name: "proposePlan", Title: "Propose a plan", Description: strings.TrimSpace(description), InputSchema: rawjson.Value(schema), Kind: skill.Proposal, Ours: true,
	}}, nil
}

// Call fails: an engine that calls the tool forgot to ask the user.
func (proposal) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{}, fmt.Errorf("the tool %q is for the user and cannot be called", call.ToolName)
}

func (proposal) Close() error { return nil }
