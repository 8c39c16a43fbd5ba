package event

import (
	"strings"
	"testing"
)

func providerRan(name, data string) Part {
	return Part{Type: ProviderPart, ToolName: name, ProviderData: []byte(data)}
}

func TestIsProviderCall(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       bool
	}{
		{"a call by its type", `{"type":"server_tool_use","name":"web_search","input":{"query":"rain"}}`, true},
		{"a call that holds what it returned", `{"type":"code_interpreter_call","outputs":[{"type":"logs"}]}`, true},
		{"a type that nobody knows", `{"type":"dance"}`, true},
		{"a result by its type", `{"type":"web_search_tool_result","tool_use_id":"a","content":[]}`, false},
		{"an output by its type", `{"type":"shell_call_output"}`, false},
		{"another spelling", `{"type":"searchResult"}`, false},
		{"a call by its member", `{"executableCode":{"code":"1"},"thoughtSignature":"s"}`, true},
		{"a result by its member", `{"codeExecutionResult":{"output":"1"},"thoughtSignature":"s"}`, false},
		{"a response by its member", `{"toolResponse":{"toolType":"x"}}`, false},
		{"a picture", `{"inlineData":{"mimeType":"image/png","data":"AA=="}}`, false},
		{"a note on sources", `{"groundingMetadata":{"webSearchQueries":["rain"]}}`, true},
		{"a note on nothing", `{"groundingMetadata":{}}`, false},
		{"a type that is none", `{"type":5}`, true},
		{"nothing", `{}`, true},
		{"no data", ``, true},
		{"no object", `[{"type":"x_result"}]`, true},
		{"text", `"_result"`, true},
		{"null", `null`, true},
		{"no JSON", `{"type":`, true},
		{"a name twice", `{"type":"a","type":"a_result"}`, false},
		{"deep", strings.Repeat(`{"a":`, 20_000), true},
	} {
		p := providerRan("t", tt.data)
		if got := p.IsProviderCall(); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	other := Part{Type: ToolCallPart, ProviderData: []byte(`{"type":"server_tool_use"}`)}
	if other.IsProviderCall() {
		t.Error("a call that is ours counts as the provider's")
	}
}

func TestWhatTheProviderRan(t *testing.T) {
	const use = `{"type":"server_tool_use"}`
	search, fetch := providerRan("web_search", use), providerRan("web_fetch", use)
	found := providerRan("web_search", `{"type":"web_search_tool_result"}`)
	with := func(m *Message, parts ...Part) *Message {
		m.Contents = append(m.Contents, parts...)
		return m
	}
	text := "It rains."
	told := with(userSays("you ran it"), search)
	tests := []struct {
		name   string
		bodies []Body
		want   []string
	}{
		{
			"beside calls, before what was said with them",
			[]Body{
				CallTools{NewMessage: with(expertSays("hm", "I looked.", readCall), search, found, fetch), ToolCalls: []ToolCall{lean(readCall)}},
				EndToolCall{ToolResult: resultOf(readCall, "{}")}, ResolveToolResults{},
			},
			[]string{
				"r provider-e1-1 | web_search | " + use + " (hm)", "r provider-e1-2 after provider-e1-1 | web_fetch | " + use,
				"r remark-e1 after provider-e1-2 | I looked.", "r action-c1 after remark-e1 | a.txt",
			},
		},
		{
			"before the answer",
			[]Body{CompleteRun{NewMessage: with(expertSays("hm", text), search, found), Text: &text}},
			[]string{"r provider-e1-1 | web_search | " + use + " (hm)", "r completion-r after provider-e1-1 | It rains."},
		},
		{
			"in a turn that paused, and whose result comes with the answer",
			[]Body{
				Retry{Reason: `{"error":"Paused","message":"wait"}`, NewMessages: []*Message{with(expertSays("", ""), search), told, nil}},
				CompleteRun{NewMessage: with(expertSays("", text), found)},
			},
			[]string{
				"r provider-e1-1 | web_search | " + use, `r retry-e1 after provider-e1-1 | {"error":"Paused","message":"wait"} | wait`,
				"r completion-r after retry-e1 | It rains.",
			},
		},
		{
			"once, though full output has the message again",
			[]Body{
				CallTools{NewMessage: with(expertSays("", "", askCall), search), ToolCalls: []ToolCall{askCall}},
				CallInteractiveTool{NewMessage: with(expertSays("", "", askCall), search), ToolCall: &askCall}, StopRunByInteractiveTool{},
			},
			[]string{"r provider-e1-1 | web_search | " + use, `r interactive-c4 after provider-e1-1 | askUser | {"q":"Budget?"}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantLines(t, script(new(Timeline), "r", tt.bodies...), tt.want...)
		})
	}

	step := Step{
		NewMessages: []*Message{told, with(expertSays("hm", "I looked.", readCall), search, found)},
		ToolCalls:   []ToolCall{readCall}, ToolResults: []ToolResult{resultOf(readCall, "{}")},
	}
	wantLines(t, FromCheckpoint(Checkpoint{Status: StatusProceeding}, step), " | web_search | "+use+" (hm)", " | I looked. (hm)", " | a.txt (hm)")
	data := mustMarshal(t, providerActivity(search))
	if want := `{"type":"providerTool","id":"","expertKey":"","runId":"","toolName":"web_search","args":` + use + `}`; string(data) != want {
		t.Errorf("encoded as %s, want %s", data, want)
	}
}
