package model

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ClaudeReasoning is how a model of Anthropic is asked to think, by its name, where the
// catalogue does not know it. Models before 3.7 refuse to be asked; up to 4.5 they are
// given a budget, which later ones refuse. Of another name nothing is known.
func ClaudeReasoning(name string) Reasoning {
	switch {
	case !strings.Contains(name, "claude-"):
		return ""
	case withBudget().MatchString(name):
		return ReasoningBudget
	case withoutThoughts().MatchString(name):
		return ReasoningNone
	}
	return ReasoningAdaptive
}

// Behind a version there may be a date, a revision, or nothing: claude-opus-4-1-20250805,
// claude-opus-4@20250514, claude-sonnet-4-5-20250929-v1:0.
var (
	withBudget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`claude-(3-7-|(opus|sonnet|haiku)-4(-[0-5])?($|[-@:](\d{6}|latest|v\d)))`)
	})
	withoutThoughts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`claude-(instant|v?[12]\b|3-)`) })
)

// IsOpenAI reports whether a name is that of a model of OpenAI's own: gpt-5, o3, chatgpt-4o.
func IsOpenAI(name string) bool { return openAIName().MatchString(name) }

var openAIName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(ft:)?(gpt-\d|chatgpt-|o\d(-|$))`) })

// OpenAIThinks reports whether a model of OpenAI thinks before it answers, by its name: all
// do but the families that came before. A tuned model is one of its family. A deployment
// may have any name.
func OpenAIThinks(name string) bool {
	name = strings.TrimPrefix(name, "ft:")
	before := []string{"gpt-3", "gpt-4", "chatgpt-4o", "gpt-5-chat"}
	return !slices.ContainsFunc(before, func(family string) bool { return strings.HasPrefix(name, family) })
}
