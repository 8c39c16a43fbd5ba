package lines

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/rawjson"
)

func ask(s string) []*event.Message { return []*event.Message{message(event.UserMessage, text(s))} }

func says(s string) event.CompleteRun {
	return event.CompleteRun{NewMessage: message(event.ExpertMessage, text(s))}
}

func parent(expert, run string) *event.Parent {
	return &event.Parent{Expert: event.ExpertRef{Key: expert}, RunID: run}
}

// family is a job in which one Expert asks two others at once, one of them twice, and one
// of those asks a fourth.
func family() []event.Event {
	runtime := func(run string, body event.Body) event.Event {
		return event.Event{JobID: "job1", RunID: run, Body: body}
	}
	delegate := func(id, expert string) event.ToolCall {
		return event.ToolCall{ID: id, SkillName: expert, ToolName: expert, Args: rawjson.Value(`{"query":"part ` + id + `"}`)}
	}
	d1, d2, d3, d4 := delegate("d1", "writer"), delegate("d2", "writer"), delegate("d3", "critic"), delegate("d4", "reader")
	return []event.Event{
		runtime("r1", event.InitializeRuntime{ExpertName: "lead", Model: "replay"}),
		at("r1", "lead", event.StartRun{InputMessages: ask("ship it")}),
		at("r1", "lead", turn("", "", d1, d2, d3)),
		at("r1", "lead", event.CallDelegate{Delegates: []event.DelegateRun{
			{ToolCallID: "d1", RunID: "r2", Expert: event.ExpertRef{Key: "writer"}}, {ToolCallID: "d2", RunID: "r3", Expert: event.ExpertRef{Key: "writer"}},
			{ToolCallID: "d3", RunID: "r4", Expert: event.ExpertRef{Key: "critic"}}}}),
		at("r1", "lead", event.StopRunByDelegate{}),
		// One starts, with a skill, and is alone for a while.
		runtime("r2", event.InitializeRuntime{ExpertName: "writer", Model: "replay"}),
		runtime("r2", event.SkillStarting{SkillName: "web", Command: "npx", Args: []string{"web"}}),
		at("r2", "writer", event.StartRun{InputMessages: ask("part d1"), DelegatedBy: parent("lead", "r1")}),
		at("r2", "writer", turn("Hm.", "", sleep)),
		// Then all three are at work.
		runtime("r3", event.InitializeRuntime{ExpertName: "writer", Model: "replay"}),
		runtime("r4", event.InitializeRuntime{ExpertName: "critic", Model: "replay"}),
		at("r3", "writer", event.StartRun{InputMessages: ask("part d2"), DelegatedBy: parent("lead", "r1")}),
		at("r4", "critic", event.StartRun{InputMessages: ask("part d3"), DelegatedBy: parent("lead", "r1")}),
		at("r2", "writer", event.StartToolCall{ToolCallID: "c1"}),
		at("r3", "writer", event.LimitWarning{Limit: event.LimitCost, Used: 0.41, Max: 0.5, NewMessage: message(event.UserMessage, text("soon"))}),
		at("r2", "writer", ended(sleep, `{"output":"done"}`)),
		at("r4", "critic", turn("", "", d4)),
		at("r4", "critic", event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "d4", RunID: "r5", Expert: event.ExpertRef{Key: "reader"}}}}),
		at("r4", "critic", event.StopRunByDelegate{}),
		at("r5", "reader", event.StartRun{InputMessages: ask("part d4"), DelegatedBy: parent("critic", "r4")}),
		at("r2", "writer", says("First part.")),
		at("r3", "writer", event.LimitWarning{Limit: event.LimitLoop, Used: 5, Max: 5}),
		at("r3", "writer", event.StopRunByLimit{Limit: event.LimitLoop}),
		// From here on one is alone again.
		at("r5", "reader", event.DefinitionChanged{Expert: "reader"}),
		at("r5", "reader", says("Read.")),
		at("r4", "critic", event.StartRun{DelegatedBy: parent("lead", "r1"), From: &event.Origin{RunID: "r4"}}),
		at("r4", "critic", event.FinishAllToolCalls{}),
		at("r4", "critic", says("Good.")),
		at("r1", "lead", event.StartRun{From: &event.Origin{RunID: "r1"}, Answers: []event.ToolResult{back(d1, "First part."), failing(d2), back(d3, "Good.")}}),
		at("r1", "lead", event.FinishAllToolCalls{}),
		at("r1", "lead", says("Shipped.")),
	}
}

// back is what a delegate answered.
func back(c event.ToolCall, words string) event.ToolResult {
	return event.ToolResult{ID: c.ID, SkillName: event.DelegateSkill + c.ToolName, ToolName: c.ToolName, Result: []event.Part{text(words)}}
}

// failing is what comes of a delegate that ended otherwise.
func failing(c event.ToolCall) event.ToolResult {
	r := back(c, "Delegation failed: it went in a circle")
	r.IsError = true
	return r
}

// The row at the end of a delegation says how many answered and how many failed, over all
// parts of the turn, and counts from zero in the next.
func TestDelegationCounts(t *testing.T) {
	calls := []event.ToolCall{{ID: "a", ToolName: "w"}, {ID: "b", ToolName: "w"}, {ID: "c", ToolName: "w"}}
	stretch := func(results ...event.ToolResult) []event.Event {
		return []event.Event{at("r", "lead", event.StartRun{From: &event.Origin{RunID: "r"}, Answers: results}), at("r", "lead", event.FinishAllToolCalls{})}
	}
	handOver := func(calls ...event.ToolCall) []event.Event {
		var b event.CallDelegate
		for _, c := range calls {
			b.Delegates = append(b.Delegates, event.DelegateRun{ToolCallID: c.ID, RunID: "run-" + c.ID, Expert: event.ExpertRef{Key: "w"}})
		}
		return []event.Event{at("r", "lead", turn("", "", calls...)), at("r", "lead", b), at("r", "lead", event.StopRunByDelegate{})}
	}
	begin := []event.Event{at("r", "lead", event.StartRun{InputMessages: ask("go")})}
	again := []event.Event{at("r", "lead", event.ContinueToNextStep{})}
	tests := map[string]struct {
		events [][]event.Event
		want   []string
	}{
		"all answer": {[][]event.Event{begin, handOver(calls...), stretch(back(calls[0], "A"), back(calls[1], "B"), back(calls[2], "C"))}, []string{"(3 delegates returned)"}},
		"two fail":   {[][]event.Event{begin, handOver(calls...), stretch(failing(calls[0]), back(calls[1], "B"), failing(calls[2]))}, []string{"(1 answered, 2 failed)"}},
		"all fail":   {[][]event.Event{begin, handOver(calls[:2]...), stretch(failing(calls[0]), failing(calls[1]))}, []string{"(2 failed)"}},
		"two parts":  {[][]event.Event{begin, handOver(calls[:2]...), stretch(failing(calls[0]))[:1], stretch(back(calls[1], "B"))}, []string{"(1 answered, 1 failed)"}},
		"turn by turn": {[][]event.Event{begin, handOver(calls[0]), stretch(failing(calls[0])), again, handOver(calls[1]), stretch(back(calls[1], "B"))},
			[]string{"(1 failed)", "(1 delegate returned)"}},
	}
	for name, tt := range tests {
		out := strings.Join(emit(t, Options{}, slices.Concat(tt.events...)...), "")
		var got []string
		for l := range strings.Lines(out) {
			if _, summary, ok := strings.Cut(l, "Delegation Complete "); ok {
				got = append(got, strings.TrimSpace(summary))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q in:\n%s", name, got, tt.want, out)
		}
	}
}

func TestDelegates(t *testing.T) {
	golden(t, "delegates.golden", strings.Join(emit(t, Options{}, family()...), ""))
	golden(t, "delegates.colour.golden", strings.Join(emit(t, Options{Color: true, Width: 60}, family()...), ""))
}

// While several are at work each row names its Expert, and no line about who delegated
// comes twice; when one is alone again it is named above its rows.
func TestRowsNameTheirExpert(t *testing.T) {
	retry := event.Retry{Reason: "again"}
	printed := emit(t, Options{},
		at("a", "a", event.StartRun{DelegatedBy: parent("lead", "r1")}),
		at("a", "a", retry),
		at("b", "b", event.StartRun{DelegatedBy: parent("lead", "r1")}),
		at("b", "b", retry),
		at("a", "a", retry),
		at("b", "b", retry),
		at("b", "b", says("B.")),
		at("a", "a", retry),
		at("a", "a", retry),
		at("a", "a", says("A.")),
	)
	want := []string{
		"",
		"  [a]\n  ● Retry\n    └ again\n",
		"",
		"  ● [b] Retry\n    └ again\n",
		"  ● [a] Retry\n    └ again\n",
		"  ● [b] Retry\n    └ again\n",
		"  ● [b] Result\n    └ B.\n",
		"  [a]\n  ● Retry\n    └ again\n",
		"  ● Retry\n    └ again\n",
		"  ● Result\n    └ A.\n",
	}
	if diff := cmp.Diff(want, printed); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// A warning has the measure of its limit, and says whether the model knows.
func TestLimitWarnings(t *testing.T) {
	told := message(event.UserMessage, text("soon"))
	for want, b := range map[string]event.LimitWarning{
		"80 of 100 used, and the model is told":                  {Limit: event.LimitSteps, Used: 80, Max: 100, NewMessage: told},
		"850000 of 1000000 used":                                 {Limit: event.LimitTokens, Used: 850_000, Max: 1_000_000},
		"$0.4012 of $0.5000 used":                                {Limit: event.LimitCost, Used: 0.40123, Max: 0.5},
		"24m0s of 30m0s used, and the model is told":             {Limit: event.LimitDuration, Used: 1440.2, Max: 1800, NewMessage: told},
		"0.2s of 0.3s used":                                      {Limit: event.LimitDuration, Used: 0.2407, Max: 0.3},
		"9 Experts on one path of delegation, and 8 are allowed": {Limit: event.LimitDepth, Used: 9, Max: 8},
		"the same 5 times in a row":                              {Limit: event.LimitLoop, Used: 5, Max: 5},
		"2000000 of 1000000 used":                                {Limit: event.LimitWorkspace, Used: 2e6, Max: 1e6},
	} {
		if got, row := emit(t, Options{}, at("r", "x", b))[0], "● Limit "+b.Limit+"\n  └ "+want+"\n"; got != row {
			t.Errorf("%+v printed %q, want %q", b, got, row)
		}
	}
}

// Rows of a deep delegation stay on the screen.
func TestDepthOfRows(t *testing.T) {
	above := "r0"
	events := []event.Event{at("r0", "e", event.StartRun{})}
	for i := range 20 {
		run := "r" + strings.Repeat("x", i+1)
		events = append(events, at(run, "e", event.StartRun{DelegatedBy: parent("e", above)}), at(run, "e", event.Retry{Reason: "again"}),
			at(run, "e", event.StopRunByDelegate{}))
		above = run
	}
	printed := emit(t, Options{}, events...)
	for i, depth := range []int{1, 2, 3, 4, 5, 6, 7, 8, 8, 8} {
		want := "\n" + strings.Repeat("  ", depth) + "● Retry\n"
		if got := printed[2+3*i]; !strings.Contains(got, want) {
			t.Errorf("delegate %d: %q, want %q in it", i+1, got, want)
		}
	}
}

// The name of an Expert is a text from outside like any other, also where it stands before
// each row.
func TestHostileNames(t *testing.T) {
	var events []event.Event
	for _, run := range []string{"a", "b"} {
		events = append(events, at(run, hostile+run, event.StartRun{DelegatedBy: parent(hostile, "r1")}))
	}
	for _, run := range []string{"a", "b", "a"} {
		events = append(events, at(run, hostile+run, event.Retry{Reason: "again"}), at(run, hostile+run, turn("", "", sleep)),
			at(run, hostile+run, event.StartToolCall{ToolCallID: "c1"}))
	}
	for _, width := range []int{0, 30} {
		checkHarmless(t, strings.Join(emit(t, Options{Width: width}, events...), ""))
	}
}

// No row is wider than the terminal. Words that are longer than a line stay whole, and there are none.
func TestNarrowTerminal(t *testing.T) {
	for _, width := range []int{20, 24, 30, 60} {
		for _, opts := range []Options{{Width: width}, {Width: width, Record: true}, {Width: width, Verbose: true}} {
			for line := range strings.Lines(strings.Join(emit(t, opts, family()...), "")) {
				if line = strings.TrimSuffix(line, "\n"); columns.Of(line) > width {
					t.Errorf("%d columns: %q has %d", width, line, columns.Of(line))
				}
			}
		}
	}
}
