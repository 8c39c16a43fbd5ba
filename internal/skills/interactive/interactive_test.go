package interactive_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/skills/interactive"
	"github.com/perstack-go/perstack/skill"
)

func TestInteractive(t *testing.T) {
	s := interactive.New(&expert.Skill{Name: "ask", Tools: []expert.InteractiveTool{{Name: "askUser", Description: "ask"}}})
	if s.Name() != "ask" {
		t.Errorf("Name() = %q", s.Name())
	}
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "askUser" || tools[0].Kind != skill.Interactive {
		t.Fatalf("Tools() = %+v, %v", tools, err)
	}
	tools[0].Name = "other"
	if again, _ := s.Tools(t.Context()); again[0].Name != "askUser" {
		t.Error("a caller of Tools can change the skill")
	}
	_, err = s.Call(t.Context(), event.ToolCall{ToolName: "askUser"})
	if err == nil || !strings.Contains(err.Error(), `"askUser" is for the user`) {
		t.Errorf("Call: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
