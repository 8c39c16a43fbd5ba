package modeltest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

func requestCases() []Case {
	hosts := func(w Traits) bool { return w.HostedTool != "" }
	return []Case{
		{Name: "an answer in words, after calls", Golden: true, Talk: func(w Traits) Talk {
			k := Talk{
				Script: oneCall, Tools: tools, TextOnly: true, Said: []Say{User(Text("Read.")), Results(Result(Text("A")))},
				Want: []Reading{called(Call{"c1", "read", `{"path":"a"}`}), spoke("Done.")},
			}
			switch {
			case w.Forbids != "":
				k.Has = []string{w.Forbids, `"think"`}
			case w.Unlisted:
				k.Lacks = []string{`"think"`}
			default: // it cannot be forbidden, but the history needs the tools
				k.Has = []string{`"think"`}
			}
			return k
		}},
		{Name: "an answer in words, without tools", Talk: Always(Talk{
			Script: "[[turn]]\ntext = \"Hello.\"\n", TextOnly: true, Said: []Say{User(Text("Hello"))}, Want: []Reading{spoke("Hello.")},
			Lacks: []string{`"tools"`, "tool_choice", "toolConfig"},
		})},
		{Name: "a limit", Golden: true, Talk: func(w Traits) Talk {
			k := Once(said("x"), spoke("x"))
			k.MaxTokens, k.Has = 300, []string{w.Limit + "300"}
			return k
		}},
		{Name: "a limit with reasoning", Talk: func(w Traits) Talk {
			k := Once(said("x"), spoke("x"))
			k.MaxTokens, k.Reasoning, k.Has = 1500, "high", []string{w.Limit + "1500"}
			return k
		}},
		{
			Name: "what the provider runs itself", Skip: needs(hosts, "this provider runs no tools itself"), Golden: true,
			Talk: func(w Traits) Talk {
				var blocks []string
				for _, block := range w.Hosted {
					blocks = append(blocks, quoted(block))
				}
				return Talk{
					Script: "[[turn]]\nhosted = [" + strings.Join(blocks, ", ") + "]\ntext = \"Found.\"\n[[turn]]\ntext = \"Again.\"\n",
					Said:   []Say{User(Text("Search.")), User(Text("Sure?"))},
					Place:  Place{Tools: []string{w.HostedTool}},
					Want:   []Reading{spoke("Found."), spoke("Again.")},
					Has:    []string{w.HostedWord},
				}
			},
		},
		{Name: "what the user adds to a request", Check: checkExtra},
		{Name: "headers of the user", Check: checkHeaders},
	}
}

// checkExtra: a member that perstack does not know is sent; one that holds the request
// together is refused when the model is opened.
func checkExtra(t *testing.T, s *Subject) {
	server, root := Serve(t, "[[turn]]\ntext = \"Hello.\"\n")
	name, value := s.Extra[0], s.Extra[1]
	m := s.Open(t, Place{Root: root, ExtraBody: map[string]rawjson.Value{name: rawjson.Value(value)}})
	if _, _, err := Ask(t.Context(), t, m, hello()); err != nil {
		t.Fatal(err)
	}
	if body := string(server.Requests()[0].Raw); !strings.Contains(body, `"`+name+`":`+value) {
		t.Errorf("%s is not in %s", name, body)
	}
	_, err := s.TryOpen(t, Place{Root: root, ExtraBody: map[string]rawjson.Value{s.Reserved: rawjson.Value(`[]`)}})
	if err == nil || !strings.Contains(err.Error(), s.Reserved) {
		t.Errorf("extraBody may set %s: %v", s.Reserved, err)
	}
}

// checkHeaders: a header of the user is sent, and replaces one of ours.
func checkHeaders(t *testing.T, s *Subject) {
	server, root := Serve(t, "[[turn]]\ntext = \"Hello.\"\n[[turn]]\ntext = \"Hello.\"\n")
	m := s.Open(t, Place{Root: root, Headers: map[string]string{"X-Mine": "yes", "user-agent": "mine/1"}})
	if _, _, err := Ask(t.Context(), t, m, hello()); err != nil {
		t.Fatal(err)
	}
	head := server.Requests()[0].Header
	for name, want := range map[string]string{"X-Mine": "yes", "User-Agent": "mine/1"} {
		if got := head.Values(http.CanonicalHeaderKey(name)); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello()); err != nil {
		t.Fatal(err)
	}
	if got := server.Requests()[1].Header.Get("User-Agent"); !strings.HasPrefix(got, "perstack/") {
		t.Errorf("without one of the user's, User-Agent is %q", got)
	}
}

// otherModelCases: what one model wrote for itself is not sent to another, of whichever
// provider: nothing of it is in the request, in whichever form.
func otherModelCases() []Case {
	return []Case{
		{Name: "a history of another provider", Golden: true, Talk: func(Traits) Talk {
			return Talk{
				Script: anyTurn, Tools: tools, Reasoning: "low",
				Said: []Say{history(foreign("elsewhere/model-1"), User(Text("And now?")))},
				Want: []Reading{spoke("Go on.")},
				Has:  []string{"It said this.", "what the tool said"}, Lacks: foreignMarks,
			}
		}},
		{Name: "a history without an author", Talk: Always(Talk{
			Script: anyTurn, Tools: tools, Reasoning: "low",
			Said: []Say{history(foreign(""), User(Text("And now?")))},
			Want: []Reading{spoke("Go on.")},
			Has:  []string{"It said this."}, Lacks: foreignMarks,
		})},
		{Name: "a tool's turn of another provider", Talk: func(Traits) Talk {
			return Talk{ // the tool has answered, and the other model would have continued
				Script: anyTurn, Tools: tools, Reasoning: "low",
				Said: []Say{func([]event.Part) []*event.Message { return foreign("elsewhere/model-1") }},
				Want: []Reading{spoke("Go on.")},
				Has:  []string{"It said this.", "what the tool said"}, Lacks: foreignMarks,
			}
		}},
		{Name: "another model of the same provider", Check: checkOther},
	}
}

// anyTurn is the answer to every turn.
const anyTurn = "[[turn]]\ntext = \"Go on.\"\n[[turn]]\ntext = \"Go on.\"\n"

var foreignMarks = []string{"foreign-signature", "foreign-data", "foreign thought"}

// foreign is a conversation that another model had, with marks of all kinds, and ids as
// only others make them.
func foreign(author string) []*event.Message {
	data := rawjson.Value(`{"type":"redacted_thinking","data":"foreign-data","id":"foreign-data","thoughtSignature":"foreign-data"}`)
	const id = "call:1/foreign+id|with=signs"
	return []*event.Message{
		message(event.UserMessage, Text("Read it.")),
		{Type: event.ExpertMessage, Author: author, Contents: []event.Part{
			{Type: event.ThinkingPart, Thinking: "foreign thought", Signature: "foreign-signature"},
			{Type: event.ThinkingPart, ProviderData: data},
			{Type: event.ProviderPart, ToolName: "web_search", ProviderData: data},
			{Type: event.TextPart, Text: "It said this.", ProviderData: data},
			{Type: event.ToolCallPart, ToolCallID: id, ToolName: "read", Args: rawjson.Value(`{"path":"a"}`), ProviderData: data},
		}},
		message(event.ToolMessage, event.Part{Type: event.ToolResultPart, ToolCallID: id, ToolName: "read", Contents: []event.Part{Text("what the tool said")}}),
	}
}

// checkOther begins with one model and continues with another.
func checkOther(t *testing.T, s *Subject) {
	const mark = "c2lnbmF0dXJlLW9mLXRoZS1maXJzdA"
	server, root := Serve(t, "[[turn]]\nreasoning = \"My first thought.\"\nsignature = \""+mark+"\"\n"+
		"[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn]]\ntext = \"Done.\"\n")
	req := hello()
	req.Tools, req.Reasoning = tools, "low"
	first := Place{Root: root, Model: s.Other}
	_, answer, err := Ask(t.Context(), t, s.Open(t, first), req)
	if err != nil {
		t.Fatal(err)
	}
	said := Remember(answer, s.author(first), 0)
	req.Messages = append(append(req.Messages, said), Results(Result(Text("A")))(callsOf(said))...)
	if _, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), req); err != nil {
		t.Fatal(err)
	}
	body := string(server.Requests()[1].Raw)
	for _, text := range []string{mark, "My first thought."} {
		if strings.Contains(body, text) {
			t.Errorf("%q of the other model is in the request:\n%s", text, body)
		}
	}
}
