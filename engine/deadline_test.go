package engine

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store/memory"
)

// A patient skill notes how long its calls may take.
type patient struct {
	leak
	calls, limited int
}

func (p *patient) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	p.calls++
	if _, limit := ctx.Deadline(); limit {
		p.limited++
	}
	return event.ToolResult{ID: call.ID, Result: []event.Part{{Type: event.TextPart, Text: "done"}}}, nil
}

// A tool may take as long as it needs: the time limit of a job is for generations.
func TestToolsHaveNoDeadline(t *testing.T) {
	p := &patient{}
	_, err := Execute(t.Context(), Job{
		ID: "job", Expert: &expert.Expert{Key: "e", Name: "e"}, Input: Input{Query: "go"}, Limits: expert.Limits{MaxSteps: 2}, Timeout: time.Minute,
	}, Parts{
		Model: &script{turns: []turn{does("tell"), does("tell")}}, Store: memory.New(), Source: FixedSource(time.UnixMilli(0)), Log: slog.New(slog.DiscardHandler),
		Skills: func(ctx context.Context, _ SkillRequest) (*skill.Toolbox, error) {
			return skill.NewToolbox(ctx, []skill.Source{{Skill: p}}, slog.New(slog.DiscardHandler))
		},
	})
	if err != nil || p.calls == 0 || p.limited > 0 {
		t.Errorf("%d calls, %d with a time limit, %v", p.calls, p.limited, err)
	}
}
