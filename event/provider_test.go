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
		{"an unknown type", `{"type":"dance"}`, true},
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

// A call is in the message that the model wrote; the first event with it reports it.
func TestProviderCalls(t *testing.T) {
	search := providerRan("web_search", `{"type":"server_tool_use"}`)
	found := providerRan("web_search", `{"type":"web_search_tool_result"}`)
	m := &Message{Type: ExpertMessage, Contents: []Part{{Type: TextPart, Text: "I looked."}, search, found, search}}
	told := &Message{Type: UserMessage, Contents: []Part{search}}
	for want, bodies := range map[int][]Body{
		2: {CallTools{NewMessage: m}, CompleteRun{NewMessage: m}, Retry{NewMessages: []*Message{m, told, nil}}},
		0: {CallTools{}, CallTools{NewMessage: told}, CallInteractiveTool{NewMessage: m}, StartGeneration{Messages: []*Message{m}}},
	} {
		for _, b := range bodies {
			if got := (Event{Body: b}).ProviderCalls(); len(got) != want {
				t.Errorf("%T has %d calls, want %d", b, len(got), want)
			}
		}
	}
}
