package model

import "strings"

// OpenAIThinks reports whether a model of OpenAI thinks before it answers, by its name: all
// do but the families that came before. A tuned model is one of its family. A deployment
// may have any name.
func OpenAIThinks(name string) bool {
	name = strings.TrimPrefix(name, "ft:")
	for _, before := range []string{"gpt-3", "gpt-4", "chatgpt-4o", "gpt-5-chat"} {
		if strings.HasPrefix(name, before) {
			return false
		}
	}
	return true
}
