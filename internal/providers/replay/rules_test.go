package replay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// ask returns the text or the error's name that a request gets.
func ask(t *testing.T, c *Cassette, req model.Request) string {
	t.Helper()
	got := play(t.Context(), New(c), &req)
	var e *model.Error
	switch {
	case errors.As(got.err, &e):
		return e.Name
	case got.err != nil:
		t.Fatal(got.err)
	}
	return got.answer.Text()
}

func TestRules(t *testing.T) {
	type request = model.Request
	type asks []struct {
		req  request
		want string
	}
	says := func(texts ...*event.Message) []*event.Message { return texts }
	tests := []struct {
		name, script string
		asks         asks
	}{
		{
			"turns follow each other",
			"[[turn]]\ntext = \"one\"\n[[turn]]\ntext = \"two\"",
			asks{{request{}, "one"}, {request{Turn: 1}, "two"}, {request{Turn: 2}, "CassetteError"}, {request{Expert: "x", Turn: 1, Attempt: 3}, "two"}},
		},
		{
			"each Expert has its own count",
			`
[[turn]]
expert = "lead"
text = "lead one"
[[turn]]
expert = "writer"
text = "writer one"
[[turn]]
expert = "lead"
text = "lead two"
[[turn]]
text = "anybody one"
[[turn]]
text = "anybody two"`,
			asks{
				{request{Expert: "lead"}, "lead one"},
				{request{Expert: "lead", Turn: 1}, "lead two"},
				{request{Expert: "lead", Turn: 2}, "CassetteError"},
				{request{Expert: "writer"}, "writer one"},
				{request{Expert: "writer", Turn: 1}, "anybody two"},
				{request{Expert: "other"}, "anybody one"},
			},
		},
		{
			"an Expert by key or by name",
			"[[turn]]\nexpert = \"@acme/w@2.0.0\"\ntext = \"exact\"\n[[turn]]\nexpert = \"@acme/w\"\ntext = \"name\"",
			asks{
				{request{Expert: "@acme/w@2.0.0"}, "exact"},
				{request{Expert: "@acme/w@1.0.0"}, "name"},
				{request{Expert: "@acme/w"}, "name"},
				{request{Expert: "w"}, "CassetteError"},
				{request{Expert: "@acme/wx"}, "CassetteError"},
				{request{Expert: ""}, "CassetteError"},
			},
		},
		{
			"a number of one's own takes none from the others",
			"[[turn]]\nturn = 2\ntext = \"special\"\n[[turn]]\ntext = \"one\"\n[[turn]]\nturn = 3\ntext = \"three\"",
			asks{{request{}, "one"}, {request{Turn: 1}, "special"}, {request{Turn: 2}, "three"}},
		},
		{
			"attempts",
			"[[turn]]\nattempt = 1\n[turn.error]\nname = \"E\"\n[[turn]]\ntext = \"one\"",
			asks{{request{}, "E"}, {request{Attempt: 1}, "one"}, {request{Attempt: 2}, "one"}, {request{Turn: 4}, "E"}},
		},
		{
			"what the newest message contains",
			"[[turn]]\ncontains = \"notes\"\ntext = \"found\"\n[[turn]]\ntext = \"one\"",
			asks{
				{request{Messages: says(user("read my notes."))}, "found"},
				{request{Turn: 7, Messages: says(user("x"), tool("a", "the notes say"))}, "found"},
				{request{Messages: says(user("read my notes"), expertSays("yes"), tool("nothing"))}, "one"},
				{request{Turn: 7, Messages: says(user("x"), expertSays("notes"), tool("the notes say"), user("hurry"))}, "found"},
				{request{Messages: says(instruction("notes"), user("x"))}, "one"},
				{request{Messages: says(user("Notes"))}, "one"},
				{request{}, "one"},
				{request{Turn: 1, Messages: says(user("x"))}, "CassetteError"},
			},
		},
		{
			"conversations of one Expert by their query",
			`
[[turn]]
expert = "w"
query = "rain"
text = "rain one"
[[turn]]
expert = "w"
query = "sun"
error = { name = "Busy", status = 429 }
[[turn]]
expert = "w"
query = "sun"
text = "sun one"
[[turn]]
expert = "w"
query = "rain"
text = "rain two"
[[turn]]
expert = "w"
text = "other one"
[[turn]]
query = "snow"
turn = 2
text = "snow two"`,
			asks{
				{request{Expert: "w", Messages: says(user("about rain"))}, "rain one"},
				{request{Expert: "w", Turn: 1, Messages: says(instruction("sun"), user("about rain"), expertSays("rain one"), user("and sun"))}, "rain two"},
				{request{Expert: "w", Turn: 2, Messages: says(user("about rain"))}, "CassetteError"},
				{request{Expert: "w", Messages: says(user("about sun"))}, "Busy"},
				{request{Expert: "w", Attempt: 1, Messages: says(user("about sun"))}, "sun one"},
				{request{Expert: "w", Messages: says(user("about wind"))}, "other one"},
				{request{Expert: "w", Messages: says(user("about wind"), user("rain"))}, "other one"},
				{request{Expert: "v", Messages: says(user("about rain"))}, "CassetteError"},
				{request{Expert: "v", Turn: 1, Messages: says(user("about snow"), expertSays("x"), tool("y"))}, "snow two"},
				{request{Expert: "w"}, "other one"},
			},
		},
		{
			"all rules must hold",
			"[[turn]]\nexpert = \"w\"\nturn = 2\nattempt = 2\ncontains = \"x\"\ntext = \"yes\"",
			asks{
				{request{Expert: "w", Turn: 1, Attempt: 1, Messages: says(user("x"))}, "yes"},
				{request{Expert: "v", Turn: 1, Attempt: 1, Messages: says(user("x"))}, "CassetteError"},
				{request{Expert: "w", Turn: 2, Attempt: 1, Messages: says(user("x"))}, "CassetteError"},
				{request{Expert: "w", Turn: 1, Attempt: 0, Messages: says(user("x"))}, "CassetteError"},
				{request{Expert: "w", Turn: 1, Attempt: 1, Messages: says(user("y"))}, "CassetteError"},
			},
		},
		{
			"an error that may pass takes an attempt, not a turn",
			`
[[turn]]
error = { name = "Busy", status = 429 }
[[turn]]
error = { name = "Down", status = 503 }
[[turn]]
text = "one"
[[turn]]
text = "two"`,
			asks{
				{request{}, "Busy"}, {request{Attempt: 1}, "Down"}, {request{Attempt: 2}, "one"}, {request{Attempt: 3}, "one"},
				{request{Turn: 1}, "two"}, {request{Turn: 1, Attempt: 1}, "two"},
			},
		},
		{
			"the last error of a script stays",
			"[[turn]]\ntext = \"one\"\n[[turn]]\nerror = { name = \"Busy\", status = 429 }\n[[turn]]\nerror = { name = \"Down\", status = 503 }",
			asks{{request{Turn: 1}, "Busy"}, {request{Turn: 1, Attempt: 1}, "Down"}, {request{Turn: 1, Attempt: 5}, "Down"}, {request{Turn: 2}, "CassetteError"}},
		},
		{
			"an error that is final takes its turn",
			"[[turn]]\nerror = { name = \"Bad\", status = 400 }\n[[turn]]\ntext = \"two\"",
			asks{{request{}, "Bad"}, {request{Attempt: 1}, "Bad"}, {request{Turn: 1}, "two"}},
		},
		{
			"retryable wins over the status",
			"[[turn]]\nerror = { name = \"Bad\", status = 429, retryable = false }\n[[turn]]\ntext = \"two\"",
			asks{{request{Attempt: 1}, "Bad"}, {request{Turn: 1}, "two"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustParse(t, tt.script)
			// In any order and again: a model keeps no place.
			order := rand.New(rand.NewPCG(1, 2))
			for range 3 {
				for _, i := range order.Perm(len(tt.asks)) {
					if got := ask(t, c, tt.asks[i].req); got != tt.asks[i].want {
						t.Errorf("%+v: got %q, want %q", tt.asks[i].req, got, tt.asks[i].want)
					}
				}
			}
		})
	}
}

// Children of one Expert run at once; each has its own query and gets its own answers.
func TestParallelChildren(t *testing.T) {
	const children = 200
	script := "[[turn]]\nexpert = \"lead\"\n"
	for i := range children {
		script += fmt.Sprintf("[[turn.call]]\ntool = \"writer\"\nargs = { query = \"chapter %d.\" }\n", i)
	}
	for i := range children {
		for turn := range 2 {
			script += fmt.Sprintf("[[turn]]\nexpert = \"writer\"\nquery = \"chapter %d.\"\ntext = \"chapter %d, part %d\"\n", i, i, turn)
		}
	}
	m := New(mustParse(t, script))
	calls := play(t.Context(), m, &model.Request{Expert: "lead", Messages: []*event.Message{user("go")}}).answer.Calls()
	var group sync.WaitGroup
	for i := range children {
		group.Go(func() {
			messages := []*event.Message{user(string(calls[i].Args))}
			for turn := range 2 {
				got := play(t.Context(), m, &model.Request{Expert: "writer", Turn: turn, Messages: messages})
				if want := fmt.Sprintf("chapter %d, part %d", i, turn); got.err != nil || got.answer.Text() != want {
					t.Errorf("got %+v, want %s", got, want)
					return
				}
				messages = append(messages, expertSays(got.answer.Text()), tool("the same for all"))
			}
		})
	}
	group.Wait()
}

func TestNoAnswer(t *testing.T) {
	tests := []struct {
		name, script string
		req          model.Request
		want         string
	}{
		{
			"behind the last turn", "[[turn]]\ntext = \"\"\n[[turn]]\ntext = \"\"", model.Request{Expert: "writer", Turn: 3},
			`the cassette demo.toml has no answer for turn 4 of expert "writer"; for this expert it has turns 1, 2`,
		},
		{
			"conditions", "[[turn]]\ntext = \"\"\n[[turn]]\ncontains = \"x\"\ntext = \"\"", model.Request{Expert: "writer", Turn: 1, Attempt: 2},
			`the cassette demo.toml has no answer for attempt 3 at turn 2 of expert "writer"; for this expert it has turns 1 and 1 with conditions that do not hold`,
		},
		{
			"another query", "[[turn]]\nquery = \"rain\"\ntext = \"\"", model.Request{Expert: "w", Messages: []*event.Message{user("sun")}},
			`the cassette demo.toml has no answer for turn 1 of expert "w"; for this expert it has 1 with conditions that do not hold`,
		},
		{
			"another expert", "[[turn]]\nexpert = \"lead\"\ntext = \"\"\n[[turn]]\nexpert = \"lead\"\ntext = \"\"", model.Request{Expert: "writer"},
			`the cassette demo.toml has no answer for turn 1 of expert "writer"; it has answers for expert "lead" only`,
		},
		{
			"many", manyTurns(12), model.Request{Expert: "w", Turn: 50},
			`the cassette demo.toml has no answer for turn 51 of expert "w"; for this expert it has turns 1, 2, 3, 4, 5, 6, 7, 8 and more`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := play(t.Context(), New(mustParse(t, tt.script)), &tt.req)
			var e *model.Error
			if !errors.As(got.err, &e) || e.Name != "CassetteError" || e.Retryable {
				t.Fatalf("got %#v", got.err)
			}
			if e.Message != tt.want {
				t.Errorf("got  %s\nwant %s", e.Message, tt.want)
			}
		})
	}
}

func manyTurns(n int) string {
	var all string
	for range n {
		all += "[[turn]]\ntext = \"\"\n"
	}
	return all
}
