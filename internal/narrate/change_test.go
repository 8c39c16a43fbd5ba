package narrate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// tellAll returns all changes that are no rows, one line each.
func tellAll(n *Narrator, events ...event.Event) (lines []string) {
	for i, e := range events {
		e.ID, e.JobID = fmt.Sprint("e", i), "j"
		for _, c := range n.Apply(e) {
			switch c := c.(type) {
			case Stream:
				lines = append(lines, fmt.Sprintf("stream %s %s %q %v", c.Run, c.Kind, c.Delta, c.Ended))
			case Run:
				lines = append(lines, fmt.Sprintf("run %s<%s %s: %s %s since %d until %d, %d tokens", c.ID, c.Parent, c.Expert, c.Phase, c.What, c.Since, c.Until, c.Tokens.Input+c.Tokens.Output))
			case Ask:
				lines = append(lines, fmt.Sprintf("ask %s %s %v", c.Row.Label, c.Row.Summary, c.Settled))
			case Totals:
				lines = append(lines, fmt.Sprintf("totals %d/%d steps, %d in, %d out, $%.4f/$%.2f %v", c.Steps, c.MaxSteps, c.Tokens.Input, c.Tokens.Output, c.Cost, c.MaxCost, c.Unpriced))
			}
		}
	}
	return lines
}

func at(ms int64, runID string, body event.Body) event.Event {
	e := event.Event{RunID: runID, Timestamp: ms, Body: body}
	if !e.IsRuntime() {
		e.ExpertKey, e.StepNumber = "lead", 1
	}
	return e
}

// What a Run does, what its model writes, and what the job has used are told as they change.
func TestChanges(t *testing.T) {
	spec := job.Spec{Prices: map[string]expert.Price{"own-model": {Input: 10, Output: 100}}}
	spec.Limits.MaxSteps, spec.Limits.MaxCost = 9, 0.5
	recorded, err := spec.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	priced := event.StartRun{Provider: "anthropic", Model: "own-model", Spec: recorded}
	used := turn("", "I look.", readCall)
	used.Usage = event.Usage{InputTokens: 1000, OutputTokens: 100}
	for name, tt := range map[string]struct {
		events []event.Event
		want   []string
	}{
		"a turn": {
			[]event.Event{
				at(1, "A", priced), at(2, "A", event.StartGeneration{}),
				at(3, "A", event.StartStreamingReasoning{}), at(3, "A", event.StreamReasoning{Delta: "hm"}), at(4, "A", event.CompleteStreamingReasoning{Text: "hm"}),
				at(5, "A", event.StartStreamingText{}), at(5, "A", event.StreamText{Delta: "I "}), at(6, "A", event.StreamText{Delta: "look."}), at(6, "A", event.CompleteStreamingText{Text: "I look."}),
				at(7, "A", used), at(8, "A", event.StartToolCall{ToolCallID: readCall.ID}), at(9, "A", ended(readCall, "{}")),
				at(10, "A", answers("Done.")),
			},
			[]string{
				"run A< lead: starting  since 1 until 0, 0 tokens",
				"totals 0/9 steps, 0 in, 0 out, $0.0000/$0.50 false",
				"run A< lead: waiting for the model  since 2 until 0, 0 tokens",
				"totals 1/9 steps, 0 in, 0 out, $0.0000/$0.50 false",
				`stream A reasoning "hm" false`,
				"run A< lead: thinking  since 3 until 0, 0 tokens",
				`stream A reasoning "" true`,
				`stream A message "I " false`,
				"run A< lead: answering  since 5 until 0, 0 tokens",
				`stream A message "look." false`,
				`stream A message "" true`,
				"run A< lead: running  since 7 until 0, 1100 tokens",
				"totals 1/9 steps, 1000 in, 100 out, $0.0200/$0.50 false",
				"run A< lead: running Read since 8 until 0, 1100 tokens",
				"run A< lead: running  since 9 until 0, 1100 tokens",
				"run A< lead: completed  since 10 until 0, 1100 tokens",
			},
		},
		"a delegate, and a model without a price": {
			[]event.Event{
				at(1, "B", event.StartRun{DelegatedBy: by("A"), Provider: "openai", Model: "nobody-knows"}),
				at(2, "B", event.Retry{Reason: "busy", DelayMS: 500, Usage: event.Usage{InputTokens: 5}}),
				at(3, "B", event.StopRunByError{}),
			},
			[]string{
				"run B<A lead: starting  since 1 until 0, 0 tokens",
				"totals 0/0 steps, 0 in, 0 out, $0.0000/$0.00 false",
				"run B<A lead: retrying  since 2 until 502, 5 tokens",
				"totals 0/0 steps, 5 in, 0 out, $0.0000/$0.00 true",
				"run B<A lead: failed  since 3 until 0, 5 tokens",
			},
		},
		"questions": {
			[]event.Event{
				at(1, "A", event.CallInteractiveTool{ToolCall: &askCall}), at(2, "A", event.StopRunByInteractiveTool{}),
				at(3, "A", event.StartRun{Answers: []event.ToolResult{resultOf(askCall, "blue")}}),
				at(4, "A", event.ApprovalRequested{ToolCallID: "c9", ToolCall: &makeCall, Digest: "d"}), at(5, "A", event.ApprovalAnswered{ToolCallID: "c9", Digest: "d", Allow: true}),
			},
			[]string{
				"ask Question askUser false",
				"run A< lead: waiting for you  since 1 until 0, 0 tokens",
				"totals 0/0 steps, 0 in, 0 out, $0.0000/$0.00 false",
				"ask Answer askUser true",
				"run A< lead: starting  since 3 until 0, 0 tokens",
				"ask Permission: Run  false",
				"run A< lead: waiting for you  since 4 until 0, 0 tokens",
				"ask Allowed: Run  true",
				"run A< lead: running  since 5 until 0, 0 tokens",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, tellAll(new(Narrator), tt.events...)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// A row says when a call started and ended, and which checkpoint its step leaves.
func TestTimesOfARow(t *testing.T) {
	var n Narrator
	var last Row
	for i, b := range []event.Body{event.StartRun{CheckpointID: "p1"}, turn("", "", makeCall), event.StartToolCall{ToolCallID: makeCall.ID}, ended(makeCall, "{}")} {
		for _, r := range Rows(n.Apply(at(int64(10*i), "A", b))) {
			last = r
		}
	}
	if last.Began != 20 || last.At != 30 || last.Checkpoint != "p1" {
		t.Errorf("%+v", last)
	}
}
