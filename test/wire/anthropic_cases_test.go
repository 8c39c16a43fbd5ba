package wire_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/model"
)

// anthropicCases are what only Anthropic has: tools and skills of the provider with their
// betas, marks for its cache, documents by address, and reasons to stop.
func anthropicCases() []modeltest.Case {
	user, text := modeltest.User, modeltest.Text
	hello := "[[turn]]\ntext = \"Hello.\"\n"
	heard := []modeltest.Reading{{Heard: "Hello.", Text: "Hello.", Finish: model.FinishStop}}
	offering := func(name string, at modeltest.Place) modeltest.Case {
		return modeltest.Case{Name: name, Talk: modeltest.Always(modeltest.Talk{
			Script: hello, Said: []modeltest.Say{user(text("Search."))}, Tools: modeltest.Tools(), Place: at, Want: heard,
		})}
	}
	link := event.Part{Type: event.FileURLPart, MIMEType: "application/pdf", URL: "https://example.com/a.pdf?b=1&c=2"}
	note := event.Part{Type: event.FileInlinePart, MIMEType: "text/markdown", EncodedData: "bm90ZXM="}
	marked := func([]event.Part) (all []*event.Message) {
		for _, kind := range []event.MessageType{event.InstructionMessage, event.UserMessage, event.UserMessage} {
			all = append(all, &event.Message{Type: kind, Cache: true, Contents: []event.Part{text("Be brief.")}})
		}
		return all
	}
	all := []modeltest.Case{
		offering("provider tools", modeltest.Place{
			Tools: []string{"webSearch", "webFetch", "codeExecution"},
			Options: &expert.ProviderToolOptions{
				WebSearch: &expert.WebSearchOptions{MaxUses: 3, AllowedDomains: []string{"example.com"}},
				WebFetch:  &expert.WebFetchOptions{MaxUses: 2},
			},
			Headers: map[string]string{"Anthropic-Beta": "mine-1"},
		}),
		offering("provider web search", modeltest.Place{Tools: []string{"webSearch"}}),
		offering("provider skills", modeltest.Place{Skills: []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}, {Type: "builtin", SkillID: "xlsx"}}}),
		{Name: "documents", Talk: modeltest.Always(modeltest.Talk{Script: hello, Said: []modeltest.Say{user(link, note)}, Want: heard})},
		{Name: "cache marks", Talk: modeltest.Always(modeltest.Talk{Script: hello, Said: []modeltest.Say{marked}, Want: heard})},
	}
	for reason, finish := range map[string]model.Finish{
		"max_tokens": model.FinishLength, "pause_turn": model.FinishPause, "stop_sequence": model.FinishStop,
	} {
		all = append(all, modeltest.Case{Name: "stop " + reason, Talk: modeltest.Always(modeltest.Once(
			"text = \"x\"\nstop = \""+reason+"\"\n", modeltest.Reading{Heard: "x", Text: "x", Finish: finish}))})
	}
	for _, status := range []int{402, 504} {
		const words = "the service says \"no\""
		all = append(all, modeltest.Case{Name: fmt.Sprintf("status %d", status), Talk: modeltest.Always(modeltest.Once(
			fmt.Sprintf("[turn.error]\nstatus = %d\nmessage = %q\n", status, words),
			modeltest.Reading{Failure: modeltest.Failure{Status: status, Message: words}}))})
	}
	return all
}

// A comparison that cannot fail proves nothing: these are mistakes that it has to see.
func TestAnthropicMistakesAreSeen(t *testing.T) {
	const right = `{"model":"m","max_tokens":9,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},` +
		`"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"}],"is_error":true,"cache_control":{"type":"ephemeral"}}]}]}`
	for _, change := range [][2]string{
		{"", ""}, // none
		{`"max_tokens"`, `"maxTokens"`},
		{`"budget_tokens"`, `"budget"`},
		{`"stream":true`, `"stream":false`},
		{`"tool_use_id"`, `"tool_call_id"`},
		{`"is_error":true`, `"is_error":"yes"`},
		{`"is_error"`, `"isError"`},
		{`"cache_control":{"type":"ephemeral"}`, `"cache_control":"ephemeral"`},
		{`"type":"text"`, `"type":"texts"`},
		{`"type":"tool_result"`, `"type":"tool_results"`},
		{`"thinking":{"type":"enabled",`, `"thinking":{"type":"on",`},
	} {
		body := []byte(strings.Replace(right, change[0], change[1], 1))
		for name, send := range map[string]func() ([]byte, error){
			"beta":  func() ([]byte, error) { sent, _, err := anthropicSDK{}.throughBeta(t, body, nil); return sent, err },
			"plain": func() ([]byte, error) { return anthropicSDK{}.throughPlain(t, body) },
		} {
			sent, err := send()
			equal := err == nil && len(sent) > 0 && gocmp.Equal(canonical(t, body, anthropicDifferences...), canonical(t, sent))
			if want := change[0] == ""; equal != want {
				t.Errorf("%s, %s instead of %s: equal is %v (%s, %v)", name, change[1], change[0], equal, sent, err)
			}
		}
	}
}
