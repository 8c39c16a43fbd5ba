package proposal_test

import (
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/proposal"
	"github.com/perstack-go/perstack/skill"
)

func TestProposal(t *testing.T) {
	s := proposal.New()
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Kind != skill.Proposal || !tools[0].InputSchema.IsValid() || tools[0].Description == "" {
		t.Fatalf("Tools() = %+v, %v", tools, err)
	}
	if _, err := s.Call(t.Context(), event.ToolCall{ToolName: tools[0].Name}); err == nil {
		t.Error("the tool can be called")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
