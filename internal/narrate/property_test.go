package narrate

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
)

// The fold of a prefix and then of the rest is the fold of all: an event changes nothing
// about what earlier ones returned, nor about the events themselves.
func TestPrefixAndRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := someEvents(t)
		before := encode(events)
		k := rapid.IntRange(0, len(events)).Draw(t, "prefix")
		var whole, n Narrator
		all := describe(fold(&whole, events))
		prefix := fold(&n, events[:k])
		said := describe(prefix)
		rest := describe(fold(&n, events[k:]))
		if d := cmp.Diff(all, append(slices.Clone(said), rest...)); d != "" {
			t.Fatalf("-all +parts\n%s", d)
		}
		if d := cmp.Diff(said, describe(prefix)); d != "" {
			t.Fatalf("the rest changed what the prefix returned\n%s", d)
		}
		if d := cmp.Diff(before, encode(events)); d != "" {
			t.Fatalf("the fold changed an event\n%s", d)
		}
	})
}

// Every row has an id of its own, and only a row that was added changes.
func TestRowIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n Narrator
		added := make(map[string]bool)
		for i, e := range someEvents(t) {
			e.StepNumber = i // as the engine does: an id of a call is not used twice in a step
			for _, r := range Rows(n.Apply(e)) {
				if !r.Changed && added[r.ID] {
					t.Fatalf("%s was added twice", r.ID)
				} else if r.Changed && !added[r.ID] {
					t.Fatalf("%s changed and was never added", r.ID)
				}
				added[r.ID] = true
			}
		}
	})
}

func fold(n *Narrator, events []event.Event) []Row {
	var all []Row
	for _, e := range events {
		all = append(all, Rows(n.Apply(e))...)
	}
	return all
}

func describe(changes []Row) []string {
	var lines []string
	for _, r := range changes {
		lines = append(lines, fmt.Sprintf("%+v", r))
	}
	return lines
}

func encode(events []event.Event) string {
	var out bytes.Buffer
	for _, e := range events {
		line, err := event.Marshal(e)
		if err != nil {
			panic(err)
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.String()
}

// someEvents draws events of a few Runs that use the same calls, in any order.
func someEvents(t *rapid.T) []event.Event {
	calls := []event.ToolCall{readCall, hireCall, hireAlso, askCall, doneCall, makeCall}
	call := rapid.SampledFrom(calls)
	runs := rapid.SampledFrom([]string{"A", "B", "C"})
	body := rapid.Custom(func(t *rapid.T) event.Body {
		c, run := call.Draw(t, "call"), runs.Draw(t, "other run")
		result := resultOf(c, rapid.SampledFrom([]string{"{}", "text", `{"error":"no"}`, event.UnknownOutcome, `{"output":"a\nb"}`}).Draw(t, "result"))
		start := query(rapid.SampledFrom([]string{"", "flights", "go"}).Draw(t, "query"))
		if rapid.Bool().Draw(t, "resumed") {
			start.From = &event.Origin{RunID: run}
			start.Answers = []event.ToolResult{result}
		}
		if rapid.Bool().Draw(t, "delegated") {
			start.DelegatedBy = by(run)
		}
		return rapid.SampledFrom([]event.Body{
			start, turn("hm", "I say.", c), turn("", "", calls...), event.StartToolCall{ToolCallID: c.ID}, event.EndToolCall{ToolResult: result},
			event.CallDelegate{Delegates: []event.DelegateRun{to(c, run)}}, event.CallInteractiveTool{ToolCallID: c.ID}, event.CallInteractiveTool{ToolCall: &c},
			event.ResumeToolCalls{}, event.FinishAllToolCalls{}, event.ResolveToolResults{}, event.AttemptCompletion{}, event.ContinueToNextStep{},
			event.StartGeneration{}, event.CompleteStreamingReasoning{Text: "hm"}, event.Retry{Reason: "again", NewMessages: []*event.Message{}},
			answers("I say."), event.StopRunByDelegate{}, event.StopRunByError{}, event.StopRunByInterrupt{}, event.InitializeRuntime{},
			event.ToolProgress{ToolCallID: c.ID, Message: "half"}, event.SkillStderr{SkillName: "s"}, event.SkillStarting{SkillName: "s"},
			event.ProxyAccess{Action: "blocked", Domain: run}, event.DockerBuildProgress{Stage: "building"},
		}).Draw(t, "body")
	})
	var events []event.Event
	for i := range rapid.IntRange(0, 30).Draw(t, "events") {
		e := event.Event{ID: fmt.Sprintf("e%d", i), JobID: "j", RunID: runs.Draw(t, "run"), Body: body.Draw(t, "event")}
		if !e.IsRuntime() {
			e.ExpertKey, e.StepNumber = "x", 1
		}
		events = append(events, e)
	}
	return events
}

// The journal that documents the format, as a story.
func TestJournal(t *testing.T) {
	data, err := os.ReadFile("../../event/testdata/journal.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var n Narrator
	var all []Row
	for line := range bytes.Lines(data) {
		e, err := event.Unmarshal(line)
		if err != nil {
			t.Fatal(err)
		}
		e.RunID = "R"
		all = append(all, Rows(n.Apply(e))...)
	}
	wantLines(t, all,
		"R Query | Plan my trip",
		"R Reasoning | First the dates.",
		"R Read dates.txt | May 3-9",
		"R @acme/flight-finder@2.1.0 Flights to Lisbon, May 3-9",
		"R @acme/flight-finder@2.1.0 returned (changed) | TP123, 240 EUR",
		"R Delegation Complete (1 delegate returned)",
		"R Question askUser | question: Budget?",
		"R Answer askUser | 500 EUR",
		"R Retry | RateLimitError: busy | next attempt in 0.2s",
		"R Reasoning | First the dates.",
		"R Result | Your trip is planned.",
	)
}

// Every reason of the proxy has words, and a program that makes up hosts does not fill the
// memory.
func TestNetwork(t *testing.T) {
	for _, reason := range egress.Reasons() {
		if why := Refusal(event.ProxyAccess{Reason: reason}); why == reason || why == "" {
			t.Errorf("%s has none", reason)
		}
	}
	for listener, want := range map[string]string{"engine": "the engine", "lead " + event.BaseSkill: "commands of lead", "lead web": "skill web of lead", "": "", "other": "other"} {
		if got := Asker(event.ProxyAccess{Listener: listener}); got != want {
			t.Errorf("listener %q: %q, want %q", listener, got, want)
		}
	}
	var n Narrator
	for i := range 3 * maxRefusals {
		n.Apply(event.Event{Body: event.ProxyAccess{Action: "blocked", Domain: fmt.Sprint(i)}})
	}
	if len(n.refusals) > maxRefusals {
		t.Errorf("%d refusals are remembered", len(n.refusals))
	}
}
