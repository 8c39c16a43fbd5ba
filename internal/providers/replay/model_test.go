package replay

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// A played generation: the chunks, and what it ended with.
type played struct {
	chunks []model.Chunk // without the last
	answer *model.Answer
	err    error
}

func play(ctx context.Context, m model.Model, req *model.Request) played {
	var p played
	for chunk, err := range m.Generate(ctx, req) {
		switch {
		case err != nil:
			p.err = err
		case chunk.Answer != nil:
			p.answer = chunk.Answer
		default:
			p.chunks = append(p.chunks, chunk)
		}
	}
	return p
}

func user(text string) *event.Message {
	return &event.Message{Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: text}}}
}

func instruction(text string) *event.Message {
	return &event.Message{Type: event.InstructionMessage, Contents: user(text).Contents}
}

func expertSays(text string) *event.Message {
	return &event.Message{Type: event.ExpertMessage, Contents: user(text).Contents}
}

func tool(texts ...string) *event.Message {
	m := &event.Message{Type: event.ToolMessage}
	for _, text := range texts {
		m.Contents = append(m.Contents, event.Part{Type: event.ToolResultPart, Contents: []event.Part{{Type: event.TextPart, Text: text}}})
	}
	return m
}

func TestAnswer(t *testing.T) {
	m := New(mustParse(t, `
[[turn]]
reasoning = "First, a  plan."
text = "Let me\n\nread. "
usage = { input = 120, output = 30, reasoning = 4, cached = 64 }
[[turn.call]]
id = "mine"
tool = "readTextFile"
args = { path = "a" }
[[turn.call]]
tool = "think"
`))
	got := play(t.Context(), m, &model.Request{Expert: "writer"})
	if got.err != nil {
		t.Fatal(got.err)
	}
	want := []model.Chunk{
		{Reasoning: "First, "}, {Reasoning: "a  "}, {Reasoning: "plan."},
		{Text: "Let "}, {Text: "me\n\n"}, {Text: "read. "},
	}
	if d := cmp.Diff(want, got.chunks); d != "" {
		t.Error(d)
	}
	answer := &model.Answer{
		Parts: []event.Part{
			{Type: event.ThinkingPart, Thinking: "First, a  plan."},
			{Type: event.TextPart, Text: "Let me\n\nread. "},
			{Type: event.ToolCallPart, ToolCallID: "mine", ToolName: "readTextFile", Args: []byte(`{"path":"a"}`)},
			{Type: event.ToolCallPart, ToolCallID: "call_1_2", ToolName: "think", Args: []byte(`{}`)},
		},
		Usage:  event.Usage{InputTokens: 120, OutputTokens: 30, ReasoningTokens: 4, TotalTokens: 150, CachedInputTokens: 64},
		Finish: model.FinishToolCalls,
	}
	if d := cmp.Diff(answer, got.answer); d != "" {
		t.Error(d)
	}
}

func TestDefaults(t *testing.T) {
	m := New(mustParse(t, "[[turn]]\ntext = \"\"\n[[turn]]\ntext = \"x\"\nfinish = \"length\""))
	got := play(t.Context(), m, &model.Request{})
	if d := cmp.Diff(played{answer: &model.Answer{Finish: model.FinishStop}}, got, cmp.AllowUnexported(played{})); d != "" {
		t.Error(d)
	}
	if got := play(t.Context(), m, &model.Request{Turn: 1}); got.answer.Finish != model.FinishLength {
		t.Error(got.answer.Finish)
	}
}

// An id made from the request's place stays unique when a turn is played again.
func TestCallIDsFollowTheRequest(t *testing.T) {
	m := New(mustParse(t, "[[turn]]\ncontains = \"go\"\n[[turn.call]]\ntool = \"a\""))
	for turn, want := range map[int]string{0: "call_1_1", 6: "call_7_1"} {
		got := play(t.Context(), m, &model.Request{Turn: turn, Messages: []*event.Message{user("go")}})
		if got.answer.Calls()[0].ToolCallID != want {
			t.Errorf("turn %d: %s", turn+1, got.answer.Calls()[0].ToolCallID)
		}
	}
}

// An answer belongs to the caller.
func TestAnswersAreNotShared(t *testing.T) {
	m := New(mustParse(t, "[[turn]]\n[[turn.call]]\ntool = \"a\"\nargs = { a = 1 }"))
	play(t.Context(), m, &model.Request{}).answer.Calls()[0].Args[0] = '!'
	if got := string(play(t.Context(), m, &model.Request{}).answer.Calls()[0].Args); got != `{"a":1}` {
		t.Error(got)
	}
}

func TestCutStream(t *testing.T) {
	m := New(mustParse(t, `
[[turn]]
turn = 1
reasoning = "I think"
text = "so it"
[turn.error]
name = "ConnectionError"
message = "closed"
retryable = true
retryAfter = "1s"
after = "text"
[turn.usage]
input = 7
output = 5
reasoning = 3
[[turn]]
turn = 2
reasoning = "I think"
[turn.error]
name = "APIError"
status = 503
after = "reasoning"
[[turn]]
turn = 3
[turn.error]
name = "BadRequest"
status = 400
`))
	tests := []struct {
		chunks []model.Chunk
		want   model.Error
	}{
		{
			[]model.Chunk{{Reasoning: "I "}, {Reasoning: "think"}, {Text: "so "}, {Text: "it"}},
			model.Error{
				Name: "ConnectionError", Message: "closed", Retryable: true, RetryAfter: time.Second,
				Usage: event.Usage{InputTokens: 7, OutputTokens: 4, ReasoningTokens: 3, TotalTokens: 11},
			},
		},
		{
			[]model.Chunk{{Reasoning: "I "}, {Reasoning: "think"}},
			model.Error{Name: "APIError", Message: "the cassette has an error here", StatusCode: 503, Retryable: true},
		},
		{nil, model.Error{Name: "BadRequest", Message: "the cassette has an error here", StatusCode: 400}},
	}
	for i, tt := range tests {
		got := play(t.Context(), m, &model.Request{Turn: i, MaxTokens: 4})
		if d := cmp.Diff(tt.chunks, got.chunks); d != "" || got.answer != nil {
			t.Errorf("turn %d: answer %v, chunks %s", i+1, got.answer, d)
		}
		var e *model.Error
		if !errors.As(got.err, &e) {
			t.Fatalf("turn %d: %v", i+1, got.err)
		}
		if d := cmp.Diff(tt.want, *e); d != "" {
			t.Errorf("turn %d: %s", i+1, d)
		}
	}
}

// A limit does to a scripted answer what it does to a real one.
func TestMaxTokens(t *testing.T) {
	m := New(mustParse(t, `
[[turn]]
text = "one two"
usage = { input = 100, output = 50, reasoning = 40, cached = 10 }
[[turn]]
text = "filtered"
finish = "content-filter"
usage = { output = 50 }
[[turn]]
text = "calls"
usage = { output = 50 }
[[turn.call]]
tool = "think"
[[turn]]
text = "nothing was counted"
`))
	usage := func(output, reasoning int) event.Usage {
		return event.Usage{InputTokens: 100, OutputTokens: output, ReasoningTokens: reasoning, TotalTokens: 100 + output, CachedInputTokens: 10}
	}
	output := func(n int) event.Usage { return event.Usage{OutputTokens: n, TotalTokens: n} }
	for _, tt := range []struct {
		turn, limit int
		finish      model.Finish
		usage       event.Usage
	}{
		{0, 0, model.FinishStop, usage(50, 40)},
		{0, 51, model.FinishStop, usage(50, 40)},
		{0, 50, model.FinishStop, usage(50, 40)},
		{0, 49, model.FinishLength, usage(49, 40)},
		{0, 30, model.FinishLength, usage(30, 30)},
		{1, 50, model.FinishContentFilter, output(50)},
		{1, 49, model.FinishLength, output(49)},
		{2, 50, model.FinishToolCalls, output(50)},
		{2, 1, model.FinishLength, output(1)},
		{3, 1, model.FinishStop, output(0)},
	} {
		whole := play(t.Context(), m, &model.Request{Turn: tt.turn})
		got := play(t.Context(), m, &model.Request{Turn: tt.turn, MaxTokens: tt.limit})
		if got.err != nil {
			t.Fatal(got.err)
		}
		want := *whole.answer // text and calls are as they were
		want.Finish, want.Usage = tt.finish, tt.usage
		if d := cmp.Diff(&want, got.answer); d != "" {
			t.Errorf("turn %d, at most %d: %s", tt.turn+1, tt.limit, d)
		}
	}
}

func TestDelay(t *testing.T) {
	const script = "[[turn]]\ntext = \"a b\"\ndelay = \"20ms\""
	t.Run("waits before the first chunk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			for range New(mustParse(t, script)).Generate(t.Context(), &model.Request{}) {
				if d := time.Since(start); d != 20*time.Millisecond {
					t.Errorf("came after %s", d)
				}
			}
		})
	})
	t.Run("ends with the context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			start := time.Now()
			got := play(ctx, New(mustParse(t, script)), &model.Request{})
			if !errors.Is(got.err, context.DeadlineExceeded) || got.chunks != nil || got.answer != nil {
				t.Errorf("got %+v", got)
			}
			if d := time.Since(start); d != 5*time.Millisecond {
				t.Errorf("ended after %s", d)
			}
			if e := model.AsError(got.err); e.Name != "TimeoutError" || e.Retryable {
				t.Errorf("classed as %+v", e)
			}
		})
	})
}

func TestCancelledContext(t *testing.T) {
	m := New(mustParse(t, "[[turn]]\ntext = \"a b c\""))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var chunks int
	var last error
	for chunk, err := range m.Generate(ctx, &model.Request{}) {
		if last = err; err == nil && chunk.Answer == nil {
			chunks++
		}
		cancel()
	}
	if chunks != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d chunks, then %v", chunks, last)
	}
	got := play(ctx, m, &model.Request{})
	if !errors.Is(got.err, context.Canceled) || got.chunks != nil {
		t.Errorf("got %+v", got)
	}
}

// The consumer may leave at any point.
func TestBreak(t *testing.T) {
	m := New(mustParse(t, "[[turn]]\nreasoning = \"a b\"\ntext = \"a b\""))
	for stop := range 6 {
		n := 0
		for range m.Generate(t.Context(), &model.Request{}) {
			if n++; n > stop {
				break
			}
		}
	}
}

// One model serves all Runs of a job at once.
func TestParallel(t *testing.T) {
	m := New(mustParse(t, "[[turn]]\ntext = \"one two\"\n[[turn]]\ntext = \"three\""))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if got := play(t.Context(), m, &model.Request{Turn: i % 2}); got.answer == nil || strings.HasPrefix(got.answer.Text(), "one") != (i%2 == 0) {
				t.Errorf("turn %d: %+v", i%2+1, got)
			}
		})
	}
	wg.Wait()
}
