package bedrock

import (
	"strings"

	"github.com/perstack-go/perstack/model"
)

// A family is what the models of one maker have in common. The id says it, inside an ARN
// too; that of a profile of one's own does not, and stands for any family.
type family string

const (
	claude family = "claude"
	nova   family = "nova"
	other  family = ""
)

func familyOf(id string) family {
	switch {
	case strings.Contains(id, "anthropic.claude-"):
		return claude
	case strings.Contains(id, "amazon.nova-"):
		return nova
	}
	return other
}

// rich reports whether the results of tools may say that they are errors and hold images,
// as the service documents it. Others are told in words, and get images beside.
func (f family) rich() bool { return f == claude || f == nova }

// caches reports whether a model takes points of the prompt cache. One that does not
// refuses the request. Nova keeps what it saw by itself.
func caches(id string) bool {
	return familyOf(id) == claude && (model.ClaudeReasoning(id) != model.ReasoningNone || strings.Contains(id, "claude-3-5-haiku"))
}
