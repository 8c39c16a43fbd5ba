package model

import (
	"regexp"
	"sync"
)

// ClaudeReasoning is how a model of Anthropic is asked to think, by its name, where the
// catalogue does not know it. Models before 3.7 refuse to be asked; up to 4.5 they are
// given a budget, which later ones refuse. Of another name nothing is known.
func ClaudeReasoning(name string) Reasoning {
	switch {
	case !anyClaude().MatchString(name):
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
	anyClaude  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`claude-`) })
	withBudget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`claude-(3-7-|(opus|sonnet|haiku)-4(-[0-5])?($|[-@:](\d{6}|latest|v\d)))`)
	})
	withoutThoughts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`claude-(instant|v?[12]\b|3-)`) })
)
