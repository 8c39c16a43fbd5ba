package modeltest

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

const used = "usage = { input = 7, output = 50, cached = 100, cacheWrite = 1000, reasoning = 20 }\n"

var usedAll = event.Usage{InputTokens: 1107, CachedInputTokens: 100, OutputTokens: 50, ReasoningTokens: 20, TotalTokens: 1157}

func counted(u event.Usage) Reading {
	r := spoke("x")
	r.Usage = u
	return r
}

func usageCases() []Case {
	return []Case{
		{Name: "usage", Talk: Always(Once("text = \"x\"\nusage = { input = 7, output = 50 }\n",
			counted(event.Usage{InputTokens: 7, OutputTokens: 50, TotalTokens: 57})))},
		{Name: "usage with a cache", Talk: Always(Once("text = \"x\"\nusage = { input = 7, output = 50, cached = 100 }\n",
			counted(event.Usage{InputTokens: 107, CachedInputTokens: 100, OutputTokens: 50, TotalTokens: 157})))},
		{Name: "usage with reasoning", Talk: Always(Once("text = \"x\"\nusage = { input = 7, output = 50, reasoning = 20 }\n",
			counted(event.Usage{InputTokens: 7, OutputTokens: 50, ReasoningTokens: 20, TotalTokens: 57})))},
		{Name: "usage of all kinds", Talk: Always(Once("text = \"x\"\n"+used, counted(usedAll)))},
		{Name: "usage of a broken answer", Check: checkPaid},
		{Name: "stopped by the limit", Talk: func(w Traits) Talk {
			k := Once("text = \"x\"\nusage = { input = 7, output = 5000, reasoning = 4500 }\n", Reading{
				Heard: "x", Text: "x", Finish: model.FinishLength,
				Usage: event.Usage{InputTokens: 7, OutputTokens: 300, ReasoningTokens: 300, TotalTokens: 307},
			})
			k.MaxTokens = 300
			return k
		}},
		{Name: "a call stopped by the limit", Talk: func(w Traits) Talk {
			k := Once("length = true\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n", Reading{
				Calls: []Call{{"c1", "read", `{"path":"a"}`}}, Finish: model.FinishLength,
			})
			k.Tools = tools
			return k
		}},
		{
			Name: "withheld", Skip: needs(func(w Traits) bool { return w.Withheld != "" }, "this wire has no word for an answer that was withheld"),
			Talk: func(w Traits) Talk {
				return Once("text = \"x\"\nstop = "+quoted(w.Withheld)+"\n", Reading{Heard: "x", Text: "x", Finish: model.FinishContentFilter})
			},
		},
		{Name: "stopped for an unknown reason", Check: func(t *testing.T, s *Subject) {
			_, root := Serve(t, "[[turn]]\ntext = \"x\"\nstop = \"tomorrow\"\n")
			_, answer, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello())
			if err != nil || answer.Finish != model.FinishOther || !strings.Contains(answer.Reason, "tomorrow") {
				t.Errorf("%+v, %v; want the end %q for the reason tomorrow", answer, err, model.FinishOther)
			}
		}},
	}
}

func hello() *model.Request { return &model.Request{Messages: User(Text("Hello"))(nil)} }

// checkPaid: what was counted before an answer broke off is not lost, and nothing is made
// up. Where a wire counts at the end only, a broken answer has no count.
func checkPaid(t *testing.T, s *Subject) {
	_, root := Serve(t, "[[turn]]\ntext = \"one two three four\"\n"+used+"cutAfter = -1\n")
	got, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello())
	e := AsFailure(t, err)
	all := s.counted(usedAll)
	if u := got.Usage; u.InputTokens > all.InputTokens || u.OutputTokens > all.OutputTokens || u.TotalTokens != u.InputTokens+u.OutputTokens {
		t.Errorf("counted %+v of %+v", u, all)
	}
	if counts := got.Usage.InputTokens == all.InputTokens && got.Usage.CachedInputTokens == all.CachedInputTokens; counts != s.CountsEarly {
		t.Errorf("counted %+v before the cut; that the input is among it is %v, want %v (%v)", got.Usage, counts, s.CountsEarly, e)
	}
}
