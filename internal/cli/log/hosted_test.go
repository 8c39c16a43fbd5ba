package log

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

func hosted(name, data string) event.Part {
	return event.Part{ID: "p-h", Type: event.ProviderPart, ToolName: name, ProviderData: []byte(data)}
}

// tellHosted writes a job for which the provider runs tools of its own: one in a turn that
// pauses, one beside a call, two for the answer. A name that acts on terminals is among them.
func tellHosted(t *testing.T, st store.Store) {
	t.Helper()
	s := begin(t, st, "hostedjob", "hosted1", "reader", noon)
	use := hosted("web_search", `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"rain"}}`)
	found := hosted("web_search", `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`)
	read := tool("c1", event.BaseSkill, "readTextFile")
	s.tell(event.StartRun{
		InputMessages: []*event.Message{say(event.UserMessage, "Does it rain?")}, CheckpointID: "h1",
		Expert: ref("reader"), Provider: "azure-openai", Model: "gpt-5",
	}, event.StartGeneration{}, event.Retry{
		Reason:      `{"error":"Paused","message":"The provider paused."}`,
		NewMessages: []*event.Message{{ID: "m1", Type: event.ExpertMessage, Contents: []event.Part{use}}},
	})
	turn := call(`{"path":"a.txt"}`, read)
	turn.NewMessage.Contents = append([]event.Part{found, hosted("bash\x1b[2J", `{"type":"bash_call","picture":"`+strings.Repeat("A", 2000)+`"}`)}, turn.NewMessage.Contents...)
	s.tell(event.StartGeneration{}, turn)
	s.answer(read, "dry")
	s.tell(event.ResolveToolResults{}, event.FinishToolCall{ToolMessage: &event.ToolMessageRef{ID: "m-t1", PartIDs: []string{"p1"}}},
		event.ContinueToNextStep{NextCheckpointID: "h2"})
	answer := say(event.ExpertMessage, "It rains.")
	answer.Contents = append([]event.Part{use, found, hosted("", `{}`)}, answer.Contents...)
	s.tell(event.StartGeneration{}, event.CompleteRun{NewMessage: answer})
	s.run, s.step = "hosted2", 3
	s.tell(event.StartRun{
		InputMessages: []*event.Message{say(event.UserMessage, "Thanks.")}, CheckpointID: "h3", From: &event.Origin{RunID: "hosted1", CheckpointID: "h2"},
		Expert: ref("reader"), Provider: "openai", Model: "gpt-5",
	}, event.StartGeneration{}, event.CompleteRun{NewMessage: say(event.ExpertMessage, "Welcome.")})
	s.end()
}

func TestWhatTheProviderRan(t *testing.T) {
	s := memory.New()
	tellHosted(t, s)
	for name, args := range map[string]string{
		"hosted": "hostedjob --summary --events", "hosted_tools": "hostedjob --tools --events", "hosted_verbose": "hostedjob --tools --verbose --events",
		"transcript_hosted": "hostedjob",
		"hosted_messages":   "--checkpoint h2 --messages",
	} {
		out, errOut, code := perstackLog(t, s, strings.Fields(args)...)
		if errOut != "" || code != 0 || strings.Contains(out, "\x1b") {
			t.Errorf("log %s: code %d, stderr %q:\n%q", args, code, errOut, out)
		}
		testkit.Golden(t, name+".golden", out)
	}
	var types []string
	out, _, _ := perstackLog(t, s, "hostedjob", "--tools", "--json")
	for _, line := range split(out) {
		e, err := event.Unmarshal([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, string(e.Type()))
	}
	if diff := cmp.Diff([]string{"retry", "callTools", "resolveToolResults", "completeRun"}, types); diff != "" {
		t.Errorf("about tools (-want +got):\n%s", diff)
	}
	out, _, _ = perstackLog(t, s, "hostedjob", "--type", "startRun", "--json")
	for _, want := range []string{`"provider":"azure-openai","model":"gpt-5"`, `"provider":"openai","model":"gpt-5"`} {
		if !strings.Contains(out, want) {
			t.Errorf("JSON is without %s", want)
		}
	}
}
