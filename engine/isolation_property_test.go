package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// An echoModel is a teamModel that marks all text and reasoning with the Run it belongs to. Only
// the final answer of a Run has no mark.
type echoModel struct{ teamModel }

// mark is what only the Run with that query says. No two Runs of a job have the same.
func mark(query string) string { return "«" + query + "»" }

func (g echoModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for chunk, err := range g.teamModel.Generate(ctx, req) {
			if chunk.Answer != nil && len(chunk.Answer.Calls()) > 0 {
				answer := *chunk.Answer
				own := mark(req.Messages[1].Text())
				if !completes(req, answer.Calls()) {
					answer.Parts = said(own, answer.Parts...)
				}
				answer.Parts = thought(own, "s", answer.Parts...)
				chunk.Answer = &answer
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// completes reports whether the text of a turn can be the answer of its Run: in the same turn
// as a completion, or after one.
func completes(req *model.Request, calls []event.Part) bool {
	return slices.ContainsFunc(calls, func(c event.Part) bool { return c.ToolName == event.CompletionTool }) ||
		slices.ContainsFunc(req.Messages, func(m *event.Message) bool {
			return slices.ContainsFunc(m.Contents, func(p event.Part) bool {
				return p.Type == event.ToolCallPart && p.ToolName == event.CompletionTool
			})
		})
}

// Whatever several Experts do, and wherever the job is killed, the messages of one Run never
// contain text of another, apart from query and answer. Usage and steps of the job are the sums
// over its Runs.
func TestRandomTeamsAreIsolated(t *testing.T) {
	marked, requests := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		b := newRandomTeam(t, rt)
		b.model = echoModel{teamModel{b.script}}
		inner := b.store
		if rapid.Bool().Draw(rt, "killed") {
			b.store = &killedStore{Store: inner, left: rapid.IntRange(0, 60).Draw(rt, "records")}
		}
		first := job.Input{Query: "go"}
		if _, err := b.run(t.Context(), first); err != nil && !errors.Is(err, errDead) {
			rt.Fatal(err)
		}
		b.store = inner
		switch h, err := Load(t.Context(), inner, "job"); {
		case err != nil || h.last.Seq == 0:
			b.finish(first)
		case h.Job.Status == event.JobStoppedByInteractiveTool:
			b.finish(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "fine"}})
		case h.Job.Status != event.JobCompleted:
			b.finish(job.Input{Continue: true})
		}
		for _, req := range b.script.requests {
			requests++
			own := mark(req.Messages[1].Text())
			for _, m := range req.Messages {
				if found := marks(m); found != "" && found != own {
					rt.Errorf("turn %d of %s, which was asked %s, has words of %s", req.Turn, req.Expert, own, found)
				} else if found != "" {
					marked++
				}
			}
			instruction := req.Messages[0].Text()
			for _, e := range append(b.team, b.expert) {
				if strings.Contains(instruction, e.Instruction) != (e.Key == req.Expert) {
					rt.Errorf("the instruction of %s, and a request of %s", e.Key, req.Expert)
				}
			}
		}
		h, err := Load(t.Context(), inner, "job")
		if err != nil {
			rt.Fatal(err)
		}
		var sum expense
		for _, s := range h.runs {
			sum.Steps, sum.Usage = sum.Steps+s.spent.Steps, sum.Usage.Add(s.spent.Usage)
		}
		if diff := cmp.Diff(expense{Steps: h.Job.TotalSteps, Usage: h.Job.Usage}, sum, cmp.AllowUnexported(expense{})); diff != "" {
			rt.Errorf("the job has spent something else than its Runs (-job +Runs):\n%s", diff)
		}
	})
	if marked == 0 {
		t.Errorf("none of %d requests had words of anybody", requests)
	}
}

// marks returns the marked text of a message, or "".
func marks(m *event.Message) string {
	for _, text := range texts(m.Contents) {
		if _, rest, ok := strings.Cut(text, "«"); ok {
			whose, _, _ := strings.Cut(rest, "»")
			return mark(whose)
		}
	}
	return ""
}

func texts(parts []event.Part) (all []string) {
	for _, p := range parts {
		all = append(all, p.Text, p.Thinking, string(p.Args))
		all = append(all, texts(p.Contents)...)
	}
	return all
}
