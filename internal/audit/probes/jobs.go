package probes

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// A puppet is in the place of a model. It says what the attack wants, and keeps what it was told.
type puppet struct {
	say func(expert string, turn int) []event.Part

	mu   sync.Mutex
	told map[string]string // by Expert, as JSON
	n    int
}

// Generate answers as the attack wants.
func (p *puppet) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		data, err := json.Marshal(req.Messages)
		p.mu.Lock()
		if p.told == nil {
			p.told = make(map[string]string)
		}
		p.told[req.Expert] += string(data)
		p.n++
		p.mu.Unlock()
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		parts := p.say(req.Expert, req.Turn)
		finish := model.FinishStop
		for _, part := range parts {
			if part.Type == event.ToolCallPart {
				finish = model.FinishToolCalls
			}
		}
		yield(model.Chunk{Answer: &model.Answer{Parts: parts, Finish: finish, Usage: event.Usage{InputTokens: 10, OutputTokens: 10, TotalTokens: 20}}}, nil)
	}
}

func calls(id, tool, args string) event.Part {
	return event.Part{Type: event.ToolCallPart, ToolCallID: id, ToolName: tool, Args: rawjson.Value(args)}
}

func text(words string) event.Part { return event.Part{Type: event.TextPart, Text: words} }

// runJob runs a job with a puppet.
func runJob(ctx context.Context, spec job.Spec, m model.Model, environ []string) (result engine.Result, err error) {
	parts := perstack.Parts{Model: m, Environ: environ, Done: func(r engine.Result) { result = r }}
	for _, err := range perstack.Run(ctx, spec, parts) {
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// team is a lead with two delegates. Each instruction has a canary of its own.
func (m *Machine) team() (job.Spec, error) {
	dir, err := m.dir("team")
	spec := job.Spec{
		Expert: "lead",
		Experts: []*expert.Expert{
			{Key: "lead", Name: "lead", Version: "1.0.0", Instruction: "Lead. " + canary + "-lead", Delegates: []string{"one", "two"}},
			{Key: "one", Name: "one", Version: "1.0.0", Description: "The first.", Instruction: "One. " + canary + "-one"},
			{Key: "two", Name: "two", Version: "1.0.0", Description: "The second.", Instruction: "Two. " + canary + "-two"},
		},
		Input:     job.Input{Query: "Begin. " + canary + "-query"},
		Workspace: job.Workspace{Dir: dir},
	}
	return spec, err
}

// contexts attacks R1: it looks for what one Expert was told in what the others are told.
func (m *Machine) contexts(ctx context.Context) audit.Result {
	spec, err := m.team()
	if err != nil {
		return noStart(err)
	}
	p := &puppet{say: func(key string, turn int) []event.Part {
		switch {
		case key == "lead" && turn == 0:
			return []event.Part{calls("c1", "one", `{"query":"`+canary+`-for-one"}`), calls("c2", "two", `{"query":"`+canary+`-for-two"}`)}
		case key == "lead":
			return []event.Part{text("done")}
		}
		return []event.Part{text("answer of " + key)}
	}}
	if _, err := m.Parts.Job(ctx, spec, p, m.Environ); err != nil {
		return noStart(err)
	}
	for key, own := range map[string][]string{"lead": {"-lead", "-query"}, "one": {"-one", "-for-one"}, "two": {"-two", "-for-two"}} {
		for _, mark := range own {
			if !strings.Contains(p.told[key], canary+mark) {
				return noControl(fmt.Sprintf("%s was not even told what is meant for it", key))
			}
		}
	}
	for key, others := range map[string][]string{
		"lead": {"-one", "-two"}, "one": {"-lead", "-query", "-two", "-for-two"}, "two": {"-lead", "-query", "-one", "-for-one"},
	} {
		for _, mark := range others {
			if strings.Contains(p.told[key], canary+mark) {
				return audit.Break(audit.BuiltIn, "the Expert %s was told what is meant for another one (%s)", key, strings.TrimPrefix(mark, "-"))
			}
		}
	}
	return audit.Hold(audit.BuiltIn, "a lead and two delegates that ran side by side were told their own instructions and queries, and none of the others'; a puppet was in the place of the model")
}

// limits attacks R2: Experts that never end, with delegates that never end.
func (m *Machine) limits(ctx context.Context) audit.Result {
	endless := func(most int) (*puppet, engine.Result, error) {
		spec, err := m.team()
		if err != nil {
			return nil, engine.Result{}, err
		}
		spec.Limits.MaxSteps = most
		p := &puppet{say: func(key string, turn int) []event.Part {
			if key == "lead" {
				return []event.Part{calls(fmt.Sprint("c", turn), "one", `{"query":"again"}`)}
			}
			if turn == 2 {
				return []event.Part{text("done")}
			}
			return []event.Part{calls(fmt.Sprint("t", turn), "think", `{"thought":"more"}`)}
		}}
		result, err := m.Parts.Job(ctx, spec, p, m.Environ)
		return p, result, err
	}
	const few, more = 6, 15
	p, result, err := endless(few)
	if err != nil {
		return noStart(err)
	}
	if p.n > few || result.Status != event.StatusStoppedByExceededMaxSteps {
		return audit.Break(audit.BuiltIn, "a job with a limit of %d steps asked the model %d times, and is %s", few, p.n, result.Status)
	}
	if p, _, err = endless(more); err != nil || p.n <= few {
		return noControl("the job ends by itself")
	}
	return audit.Hold(audit.BuiltIn, "an Expert that delegates without end was stopped after %d steps of all Experts together, and after %d with a higher limit; tokens, money and time are proved by tests only", few, p.n)
}
