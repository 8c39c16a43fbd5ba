package modeltest

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// large is a number that no float64 has. What a model wrote is sent back as it was.
const large = "9007199254740995"

// oneCall calls a tool, then says that it is done.
const oneCall = "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn]]\ntext = \"Done.\"\n"

// called is the answer to it.
func called(calls ...Call) Reading { return Reading{Calls: calls, Finish: model.FinishToolCalls} }

func callCases() []Case {
	reads := Call{"c1", "read", `{"path":"a"}`}
	one := func(name string, golden bool, outcome event.Part, has ...string) Case {
		return Case{Name: name, Golden: golden, Talk: Always(Talk{
			Script: oneCall, Tools: tools, Said: []Say{User(Text("Read.")), Results(outcome)}, Want: []Reading{called(reads), spoke("Done.")}, Has: has,
		})}
	}
	return []Case{
		{Name: "a call", Golden: true, Talk: Always(Talk{
			Script: "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"\\\"ä\\\" \\\\ \\n\", at = " + large + ", list = [1.5, true, {}] }\n[[turn]]\ntext = \"Done.\"\n",
			Said:   []Say{Instructed("Read.", Text("Read.")), Results(Result(Text("A")))}, Tools: tools,
			Want: []Reading{called(Call{"c1", "read", `{"at":` + large + `,"list":[1.5,true,{}],"path":"\"ä\" \\ \n"}`}), spoke("Done.")},
			Has:  []string{large},
		})},
		{Name: "calls side by side", Golden: true, Talk: Always(Talk{
			Script: "[[turn]]\ntext = \"Both.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n" +
				"[[turn.call]]\nid = \"c2\"\ntool = \"read\"\nargs = { path = \"b\" }\n[[turn.call]]\nid = \"c3\"\ntool = \"think\"\n[[turn]]\ntext = \"Done.\"\n",
			Said:  []Say{User(Text("Read.")), Results(Result(Text("A")), Failed(Text("no")), Result(Text("C")))},
			Tools: tools,
			Want: []Reading{
				{Heard: "Both.", Text: "Both.", Calls: []Call{reads, {"c2", "read", `{"path":"b"}`}, {"c3", "think", "{}"}}, Finish: model.FinishToolCalls},
				spoke("Done."),
			},
		})},
		{Name: "a call without arguments", Talk: Always(Talk{
			Script: "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"think\"\n[[turn]]\ntext = \"Done.\"\n",
			Said:   []Say{User(Text("Think.")), Results(Result(Text("A")))}, Tools: tools,
			Want: []Reading{called(Call{"c1", "think", "{}"}), spoke("Done.")},
		})},
		{
			Name: "a call with broken arguments", Skip: needs(func(w Traits) bool { return w.TextArgs }, "arguments are an object on this wire, and cannot be broken alone"),
			Talk: Always(Talk{
				Script: "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargsText = '{\"path\": \"a'\n[[turn]]\ntext = \"Done.\"\n",
				Said:   []Say{User(Text("Read.")), Results(Failed(Text("no JSON")))}, Tools: tools,
				Want: []Reading{called(Call{"c1", "read", `{"path": "a`}), spoke("Done.")},
			}),
		},
		{Name: "a call of an unknown tool", Talk: Always(Talk{
			Script: "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"nobody\"\nargs = { x = 1 }\n[[turn]]\ntext = \"Done.\"\n",
			Said:   []Say{User(Text("Read.")), Results(Failed(Text("there is no tool nobody")))}, Tools: tools,
			Want: []Reading{called(Call{"c1", "nobody", `{"x":1}`}), spoke("Done.")},
		})},
		{Name: "calls with the same id", Talk: Always(Talk{
			Script: "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"b\" }\n[[turn]]\ntext = \"Done.\"\n",
			Said:   []Say{User(Text("Read.")), Results(Result(Text("A")), Result(Text("B")))}, Tools: tools,
			Want: []Reading{called(reads, Call{"c1", "read", `{"path":"b"}`}), spoke("Done.")},
		})},
		one("a failed tool", true, Failed(Text("no such file")), "no such file"),
		one("a tool that failed in silence", false, Failed()),
		one("a tool that returns nothing", false, Result()),
		one("a tool that returns an empty text", false, Result(Text(""))),
		one("a tool that returns two texts", false, Result(Text("first part"), Text("second part")), "first part", "second part"),
		{Name: "names of tools that no API takes", Check: checkNames},
	}
}

// checkNames offers tools whose names have dots, slashes and too many letters, and some
// that would become the same. The model calls them by the names that it was sent; what
// comes out are their own.
func checkNames(t *testing.T, s *Subject) {
	names := []string{"files.read/all", "files_read_all", "files.read.all", "1st", "größe", "a b", strings.Repeat("long", 25) + "1", strings.Repeat("long", 25) + "2"}
	var offered []model.Tool
	for _, name := range names {
		offered = append(offered, model.Tool{Name: name, Description: "described as " + name, InputSchema: rawjson.Value(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
	}
	server, root := Serve(t, "[[turn]]\ntext = \"Hello.\"\n")
	req := &model.Request{Tools: offered, Messages: User(Text("Hello"))(nil)}
	if _, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), req); err != nil {
		t.Fatal(err)
	}
	sent := namesByDescription(t, server.Requests()[0].Raw)
	var script strings.Builder
	script.WriteString("[[turn]]\n")
	taken := map[string]bool{}
	for _, name := range names {
		as := sent["described as "+name]
		if as == "" || taken[as] {
			t.Fatalf("%q was sent as %q, which is nothing or another's", name, as)
		}
		taken[as] = true
		script.WriteString("[[turn.call]]\ntool = " + quoted(as) + "\n")
	}
	var want Reading
	want.Finish = model.FinishToolCalls
	var done []event.Part
	for _, name := range names {
		want.Calls = append(want.Calls, Call{Tool: name, Args: "{}"})
		done = append(done, Result(Text("done")))
	}
	_, root = Serve(t, script.String()+"[[turn]]\ntext = \"Done.\"\n")
	m := s.Open(t, Place{Root: root})
	got, answer, err := Ask(t.Context(), t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Calls {
		got.Calls[i].ID = "" // the wire's own
	}
	compare(t, want, got)
	message := Remember(answer, s.author(Place{}), 0)
	req.Messages = append(append(req.Messages, message), Results(done...)(callsOf(message))...)
	if got, _, err = Ask(t.Context(), t, m, req); err != nil || got.Text != "Done." {
		t.Errorf("with the calls in its history: %+v, %v", got, err)
	}
}

// namesByDescription finds the tools of a request, wherever the wire has them.
func namesByDescription(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var all any
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	walk(all, func(o map[string]any) {
		name, _ := o["name"].(string)
		if description, ok := o["description"].(string); ok && name != "" {
			names[description] = name
		}
	})
	return names
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case map[string]any:
		visit(v)
		for _, e := range v {
			walk(e, visit)
		}
	}
}
