package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

var busy = &model.Error{Name: "Overloaded", Message: "overloaded", StatusCode: 529, Retryable: true}

// TestTraces pins the sequences of runtime.md §13, by their letters.
func TestTraces(t *testing.T) {
	const oneTool = "startRun@1 startGeneration@1 callTools@1 resolveToolResults@1 finishToolCall@1 "
	tests := []struct {
		name     string
		turns    []turn
		maxSteps int
		status   event.Status
		want     string
	}{
		{"A text answer", []turn{says("hi")}, 100, event.StatusCompleted,
			"startRun@1 startGeneration@1 completeRun@1"},
		{"B one tool then text", []turn{does("read"), says("hi")}, 100, event.StatusCompleted,
			oneTool + "continueToNextStep@1 startGeneration@2 completeRun@2"},
		{"B several tools in one turn", []turn{does("read", "act", "fail"), says("hi")}, 100, event.StatusCompleted,
			oneTool + "continueToNextStep@1 startGeneration@2 completeRun@2"},
		{"C completion", []turn{does("attemptCompletion"), says("done")}, 100, event.StatusCompleted,
			"startRun@1 startGeneration@1 callTools@1 attemptCompletion@1 completeRun@1"},
		{"D completion with open todos", []turn{does("todo {\"newTodos\":[\"x\"]}"), does("attemptCompletion"), says("later")}, 100, event.StatusCompleted,
			oneTool + "continueToNextStep@1 startGeneration@2 callTools@2 resolveToolResults@2 finishToolCall@2 continueToNextStep@2 startGeneration@3 completeRun@3"},
		{"E completion with text", []turn{does("attemptCompletion").with(func(a *model.Answer) { a.Parts = said(" all done \n", a.Parts...) })}, 100, event.StatusCompleted,
			"startRun@1 startGeneration@1 callTools@1 completeRun@1"},
		{"F interactive stop", []turn{does("ask", "read")}, 100, event.StatusStoppedByInteractiveTool,
			"startRun@1 startGeneration@1 callTools@1 callInteractiveTool@1 stopRunByInteractiveTool@1"},
		{"L retry of an empty answer", []turn{says(""), says("hi")}, 100, event.StatusCompleted,
			"startRun@1 startGeneration@1 retry@1 continueToNextStep@1 startGeneration@2 completeRun@2"},
		{"L retry of a cut answer", []turn{does("act").with(func(a *model.Answer) { a.Finish = model.FinishLength }), says("hi")}, 100, event.StatusCompleted,
			"startRun@1 startGeneration@1 retry@1 continueToNextStep@1 startGeneration@2 completeRun@2"},
		{"text cut off at the limit is no answer", []turn{says("hal").with(func(a *model.Answer) { a.Finish = model.FinishLength }), says("whole")}, 100, event.StatusCompleted,
			"startRun@1 startGeneration@1 retry@1 continueToNextStep@1 startGeneration@2 completeRun@2"},
		{"a final answer cut off at the limit", []turn{does("attemptCompletion"), says("hal").with(func(a *model.Answer) { a.Finish = model.FinishLength })}, 100, event.StatusStoppedByError,
			"startRun@1 startGeneration@1 callTools@1 attemptCompletion@1 stopRunByError@1"},
		{"transport retry stays within the step", []turn{{fail: []error{busy, busy}, answer: says("hi").answer}}, 100, event.StatusCompleted,
			"startRun@1 startGeneration@1 retry@1 retry@1 completeRun@1"},
		{"M fatal error", []turn{{fail: []error{&model.Error{Name: "Unauthorized", Message: "bad key", StatusCode: 401}}}}, 100, event.StatusStoppedByError,
			"startRun@1 startGeneration@1 stopRunByError@1"},
		{"N max steps", []turn{does("read")}, 1, event.StatusStoppedByExceededMaxSteps,
			oneTool + "stopRunByExceededMaxSteps@1"},
		{"content filter", []turn{says("x").with(func(a *model.Answer) { a.Finish = model.FinishContentFilter })}, 100, event.StatusStoppedByError,
			"startRun@1 startGeneration@1 stopRunByError@1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.turns...)
			b.maxSteps = tt.maxSteps
			result := b.must(job.Input{Query: "go"})
			if got := b.trace(); got != tt.want {
				t.Errorf("trace\n got %s\nwant %s", got, tt.want)
			}
			if result.Status != tt.status {
				t.Errorf("status = %s, want %s", result.Status, tt.status)
			}
			b.checkJournal()
		})
	}
}

// G: the user's answer continues the same Run.
func TestAnswerContinuesTheRun(t *testing.T) {
	b := newBench(t, does("read", "ask {\"q\":1}", "confirm"), says("thanks"))
	first := b.must(job.Input{Query: "plan"})
	if n := len(first.Pending); n != 2 {
		t.Fatalf("%d calls wait, want 2", n)
	}
	second := b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "Tuesday"}})
	if got, want := b.trace(), "startRun@2 resumeToolCalls@2 callInteractiveTool@2 stopRunByInteractiveTool@2"; got != want {
		t.Errorf("trace\n got %s\nwant %s", got, want)
	}
	if initial := last[event.StartRun](b).InitialCheckpoint; initial.Status != event.StatusStoppedByInteractiveTool {
		t.Errorf("initial status = %s", initial.Status)
	}
	if second.RunID != first.RunID {
		t.Errorf("run id changed from %s to %s", first.RunID, second.RunID)
	}
	b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{ToolCallID: second.Pending[0].ID, Text: "yes"}})
	if got, want := b.trace(), "startRun@3 finishAllToolCalls@3 continueToNextStep@3 startGeneration@4 completeRun@4"; got != want {
		t.Errorf("trace\n got %s\nwant %s", got, want)
	}
	// The tool message holds the results in call order.
	message := last[event.FinishAllToolCalls](b).NewMessages[0]
	var texts []string
	for _, p := range message.Contents {
		texts = append(texts, event.FirstText(p.Contents))
	}
	if got := strings.Join(texts, ","); got != "did read,Tuesday,yes" {
		t.Errorf("results = %s", got)
	}
	b.checkJournal()
}

// O and Q: a new query starts a new Run, from the head or from an earlier checkpoint.
func TestContinueAndBranch(t *testing.T) {
	b := newBench(t, does("read"), does("act"), says("first"), says("second"))
	first := b.must(job.Input{Query: "go"})
	b.must(job.Input{Continue: true, Query: "more"})
	if got, want := b.trace(), "startRun@4 startGeneration@4 completeRun@4"; got != want {
		t.Errorf("continue: trace\n got %s\nwant %s", got, want)
	}
	if start := last[event.StartRun](b); start.InitialCheckpoint.Status != event.StatusCompleted || start.From.CheckpointID != first.CheckpointID {
		t.Errorf("continue: started from %+v with status %s", start.From, start.InitialCheckpoint.Status)
	}

	history, err := Load(t.Context(), b.store, "job")
	if err != nil {
		t.Fatal(err)
	}
	var early string
	for id, p := range history.points {
		if p.State.StepNumber == 1 {
			early = id
		}
	}
	branch := b.must(job.Input{Continue: true, From: early, Query: "another way"})
	if got, want := b.trace(), "startRun@2 startGeneration@2 callTools@2 resolveToolResults@2 finishToolCall@2 continueToNextStep@2 startGeneration@3 completeRun@3"; got != want {
		t.Errorf("branch: trace\n got %s\nwant %s", got, want)
	}
	if branch.RunID == first.RunID {
		t.Error("branch kept the run id")
	}
	messages := last[event.CompleteRun](b).Checkpoint.Messages
	for _, m := range messages {
		if strings.Contains(m.Text(), "more") {
			t.Errorf("message of the old branch in the new one: %q", m.Text())
		}
	}
	// The newest record is the head, although an older branch has a higher step.
	b.must(job.Input{Continue: true, Query: "on the branch"})
	if got := last[event.StartRun](b).From.CheckpointID; got != branch.CheckpointID {
		t.Errorf("head = %s, want the branch %s", got, branch.CheckpointID)
	}
	b.checkJournal()
}

func TestRetriesAreLimited(t *testing.T) {
	tests := []struct {
		name       string
		turns      []turn
		maxRetries int
		retries    int
		failure    string
	}{
		{"transport", []turn{{fail: []error{busy, busy, busy}}}, 2, 2, "Max retries (2) exceeded: overloaded"},
		{"none allowed", []turn{{fail: []error{busy}}}, 0, 0, "Max retries (0) exceeded: overloaded"},
		{"empty answers", []turn{says(""), says(""), says("")}, 2, 2, "Max retries (2) exceeded: the model answered with neither"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.turns...)
			b.maxRetries = tt.maxRetries
			result := b.must(job.Input{Query: "go"})
			if got := strings.Count(b.trace(), "retry@"); got != tt.retries {
				t.Errorf("%d retries, want %d: %s", got, tt.retries, b.trace())
			}
			if result.Failure == nil || !strings.HasPrefix(result.Failure.Message, tt.failure) {
				t.Errorf("failure = %+v, want %q", result.Failure, tt.failure)
			}
			if cp := last[event.StopRunByError](b).Checkpoint; cp.Error == nil || cp.Error.Message != result.Failure.Message {
				t.Errorf("the checkpoint lacks the error: %+v", cp.Error)
			}
			b.checkJournal()
		})
	}
}

// A call that cannot be carried out gets an error result, and the Run continues.
func TestFailingTools(t *testing.T) {
	tests := []struct{ call, want string }{
		{"nope", `there is no tool named "nope"`},
		{"read {broken", "not a valid JSON object"},
		{`read {"a":1,"a":2}`, "not a valid JSON object"},
		{"read [1]", "not a valid JSON object"},
		{"read " + strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101), "not a valid JSON object"},
		{"read " + strings.Repeat(`{"a":`, 9996) + "1" + strings.Repeat("}", 9996), "not a valid JSON object"},
		{"read {} {}", "not a valid JSON object"},
		{"fail", "no such thing"},
		{"boom", "internal error in the tool boom: boom"},
		{"broken", "transport closed"},
	}
	for _, tt := range tests {
		t.Run(tt.call[:min(len(tt.call), 30)], func(t *testing.T) {
			b := newBench(t, does(tt.call), says("ok"))
			if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
				t.Fatalf("status = %s, %+v", r.Status, r.Failure)
			}
			result := last[event.ResolveToolResults](b).ToolResults[0]
			if text := event.FirstText(result.Result); !result.IsError || !strings.Contains(text, tt.want) {
				t.Errorf("result = %v %q, want an error with %q", result.IsError, text, tt.want)
			}
			b.checkJournal()
		})
	}
}

func TestDuplicateCallIDs(t *testing.T) {
	same := does("read", "act", "read").with(func(a *model.Answer) {
		for i := range a.Parts {
			a.Parts[i].ToolCallID = "x"
		}
	})
	b := newBench(t, same, says("ok"))
	b.must(job.Input{Query: "go"})
	if got := len(last[event.ResolveToolResults](b).ToolResults); got != 3 {
		t.Errorf("%d results, want 3", got)
	}
	b.checkJournal()
}

// Call ids become unique, even if a model chooses ids that collide with generated ones. A
// thousand equal ids do not take quadratic time.
func TestCallIDs(t *testing.T) {
	taken, seen := make(callIDs), map[string]bool{}
	for _, id := range append([]string{"", "call", "x-2", "x", "x", "x", "x-1", "x-1", "x-1-1", "call-1"}, slices.Repeat([]string{"y"}, 1000)...) {
		unique := taken.unique(id)
		if seen[unique] || !strings.HasPrefix(unique, id) {
			t.Errorf("%q became %q", id, unique)
		}
		seen[unique] = true
	}
	if taken["y"] > 1001 {
		t.Errorf("the last of a thousand has the number %d", taken["y"])
	}
}

// A completion in a turn with other calls is carried out last, and all calls are answered.
func TestCompletionBesideOtherCalls(t *testing.T) {
	b := newBench(t, does("attemptCompletion", "act", "read"), says("done"))
	if r := b.must(job.Input{Query: "go"}); r.Text != "done" {
		t.Errorf("text = %q", r.Text)
	}
	messages := last[event.CompleteRun](b).Checkpoint.Messages
	if got := len(messages[len(messages)-2].Contents); got != 3 {
		t.Errorf("%d results in the tool message, want 3", got)
	}
	if len(b.base.ran) != 1 || len(b.tools.ran) != 2 {
		t.Errorf("ran %v and %v", b.base.ran, b.tools.ran)
	}

	b = newBench(t, does("attemptCompletion", "ask"), says("done"))
	b.must(job.Input{Query: "go"})
	b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "yes"}})
	result := last[event.FinishAllToolCalls](b).NewMessages[0].Contents[0]
	if !result.IsError || !strings.Contains(event.FirstText(result.Contents), "not yet") {
		t.Errorf("completion beside a question gave %q", event.FirstText(result.Contents))
	}
	b.checkJournal()
}

// A skill's memory is restored when the conversation is resumed.
func TestMemorySurvivesResume(t *testing.T) {
	b := newBench(t, does(`todo {"newTodos":["x"]}`), says("paused"), does("attemptCompletion"), says("still open"))
	b.must(job.Input{Query: "go"})
	b.must(job.Input{Continue: true, Query: "finish"})
	if strings.Contains(b.trace(), "attemptCompletion@") {
		t.Errorf("completion was accepted although a todo is open: %s", b.trace())
	}
	if cp := last[event.CompleteRun](b).Checkpoint; string(cp.Metadata["skills"]) != `{"@perstack/base":{"newTodos":["x"]}}` {
		t.Errorf("metadata = %s", cp.Metadata)
	}
}

func TestWrongInput(t *testing.T) {
	b := newBench(t, does("ask"), says("done"), says("more"))
	if _, err := b.run(t.Context(), job.Input{Continue: true, Query: "x"}); !isInput(err) {
		t.Errorf("unknown job: %v", err)
	}
	b.must(job.Input{Query: "go"})
	for name, in := range map[string]job.Input{
		"existing job":       {Query: "again"},
		"query while asked":  {Continue: true, Query: "x"},
		"resume while asked": {Continue: true},
		"unknown call":       {Continue: true, Answer: &event.ToolAnswer{ToolCallID: "zz", Text: "x"}},
		"unknown checkpoint": {Continue: true, From: "zz", Query: "x"},
	} {
		if _, err := b.run(t.Context(), in); !isInput(err) {
			t.Errorf("%s: error = %v, want one of input", name, err)
		}
	}
	b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "ok"}})
	for name, in := range map[string]job.Input{
		"resume completed": {Continue: true},
		"answer completed": {Continue: true, Answer: &event.ToolAnswer{Text: "x"}},
	} {
		if _, err := b.run(t.Context(), in); !isInput(err) {
			t.Errorf("%s: error = %v, want one of input", name, err)
		}
	}
	b.expert.Key = "other"
	if _, err := b.run(t.Context(), job.Input{Continue: true, Query: "x"}); !isInput(err) || !strings.Contains(err.Error(), "does not match") {
		t.Errorf("other expert: %v", err)
	}
	b.checkJournal()
}

func isInput(err error) bool {
	var e *Error
	var waiting *WaitingError
	return errors.As(err, &waiting) || errors.As(err, &e) && e.Kind == KindInput
}

// A conversation that nearly fills the model's window is announced, once.
func TestContextWarning(t *testing.T) {
	b := newBench(t, does("read"), does("read"), does("read").with(func(a *model.Answer) { a.Usage = spent(84) }), does("read").with(func(a *model.Answer) { a.Usage = spent(90) }), says("done"))
	b.window = 100
	b.must(job.Input{Query: "go"})
	if got := strings.Count(b.trace(), "limitWarning@"); got != 1 || !strings.Contains(b.trace(), "continueToNextStep@3 limitWarning@4 startGeneration@4") {
		t.Errorf("trace = %s", b.trace())
	}
	if w := last[event.LimitWarning](b); w.Limit != "context" || w.Used != 85 || w.Max != 100 {
		t.Errorf("warning = %+v", w)
	}
	if share := last[event.CompleteRun](b).Checkpoint.ContextWindowUsage; share == nil || *share != 0.11 {
		t.Errorf("share of the window = %v, want that of the last generation", share)
	}
	b.checkJournal()
}

// A changed definition is reported, and the new instruction is used.
func TestDefinitionChanged(t *testing.T) {
	b := newBench(t, says("one"), says("two"))
	b.must(job.Input{Query: "go"})
	b.expert.Instruction = "Write well."
	b.must(job.Input{Continue: true, Query: "more"})
	if changed := last[event.DefinitionChanged](b); changed.Before == changed.After || changed.Before == "" {
		t.Errorf("changed = %+v", changed)
	}
	cp := last[event.CompleteRun](b).Checkpoint
	if text := cp.Messages[0].Text(); !strings.Contains(text, "Write well.") {
		t.Errorf("instruction = %q", text)
	}
	for _, m := range cp.Messages[1:] {
		if m.Type == event.InstructionMessage {
			t.Error("the conversation has two instructions")
		}
	}
}

func TestInterrupt(t *testing.T) {
	stopped := errors.New("received interrupt")
	tests := []struct {
		name  string
		turns []turn
		at    event.Type // the event at which the user stops the run; none: when a tool waits
		want  string     // the trace of the resumed run
		ran   int        // how often tools ran in the end
	}{
		{"while the model thinks", []turn{{block: true, answer: says("hi").answer}}, "startGeneration", "startRun@2 startGeneration@2 completeRun@2", 0},
		{"while a tool runs", []turn{does("wait", "read"), says("hi")}, "", "startRun@2 finishAllToolCalls@2 continueToNextStep@2 startGeneration@3 completeRun@3", 2},
		{"before the tools run", []turn{does("act", "read"), says("hi")}, "callTools", "startRun@2 resumeToolCalls@2 resolveToolResults@2 finishToolCall@2 continueToNextStep@2 startGeneration@3 completeRun@3", 2},
		{"between results and message", []turn{does("act"), says("hi")}, "resolveToolResults", "startRun@2 finishAllToolCalls@2 continueToNextStep@2 startGeneration@3 completeRun@3", 1},
		{"between steps", []turn{does("act"), says("hi")}, "continueToNextStep", "startRun@3 startGeneration@3 completeRun@3", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.turns...)
			ctx, cancel := context.WithCancelCause(t.Context())
			b.tools.onWait = func() { cancel(stopped) }
			b.emit = func(e event.Event) error {
				if e.Type() == tt.at {
					cancel(stopped)
				}
				return nil
			}
			first, err := b.run(ctx, job.Input{Query: "go"})
			if err != nil || first.Status != event.StatusStoppedByInterrupt || first.Reason != stopped.Error() {
				t.Fatalf("first run: %+v, %v", first, err)
			}
			if !strings.HasSuffix(b.trace(), "stopRunByInterrupt@1") && !strings.HasSuffix(b.trace(), "stopRunByInterrupt@2") {
				t.Errorf("first trace: %s", b.trace())
			}
			b.emit = nil
			for i := range b.script.turns {
				b.script.turns[i].block = false
			}
			second := b.must(job.Input{Continue: true})
			if got := b.trace(); got != tt.want {
				t.Errorf("resumed trace\n got %s\nwant %s", got, tt.want)
			}
			if second.RunID != first.RunID || second.Status != event.StatusCompleted {
				t.Errorf("resumed: %+v", second)
			}
			if len(b.tools.ran) != tt.ran {
				t.Errorf("tools ran %v, want %d calls", b.tools.ran, tt.ran)
			}
			b.checkJournal()
		})
	}
}

// When the output is closed, the Run is saved and ends.
func TestClosedOutput(t *testing.T) {
	b := newBench(t, does("act"), says("hi"))
	b.emit = func(e event.Event) error {
		if e.Type() == "callTools" {
			return errors.New("broken pipe")
		}
		return nil
	}
	result := b.must(job.Input{Query: "go"})
	if result.Status != event.StatusStoppedByInterrupt || !strings.Contains(result.Reason, "broken pipe") {
		t.Errorf("result = %+v", result)
	}
	b.emit = nil
	if r := b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted {
		t.Errorf("resumed: %+v", r)
	}
	b.checkJournal()
}
