package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A teamModel is a model for several Experts. Two Runs of one Expert play the same turns, so
// the query that a Run was given is put before the ids of its calls and into the queries
// of its delegates: every call of a job has an id of its own.
type teamModel struct{ *script }

func (c teamModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		query := req.Messages[1].Text()
		for chunk, err := range c.script.Generate(ctx, req) {
			if chunk.Answer != nil {
				answer := *chunk.Answer
				answer.Parts = nil
				for _, p := range chunk.Answer.Parts {
					if p.Type == event.ToolCallPart {
						p.ToolCallID = query + "/" + p.ToolCallID
					}
					if strings.Contains(string(p.Args), "QUERY") {
						p.Args = fmt.Appendf(nil, `{"query":%q}`, p.ToolCallID)
					}
					answer.Parts = append(answer.Parts, p)
				}
				chunk.Answer = &answer
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// teams draws the turns of three Experts. The writer can delegate to both others, the helper to
// the third.
func teams(t *rapid.T) map[string][]turn {
	common := []string{"read", "act", "fail", "nope", "broken", "attemptCompletion"}
	turns := func(name string, more ...string) []turn {
		call := rapid.SampledFrom(append(more, common...))
		var all []turn
		for i := range rapid.IntRange(0, 3).Draw(t, name) {
			tn := does(rapid.SliceOfN(call, 1, 3).Draw(t, "calls")...)
			for j := range tn.answer.Parts {
				tn.answer.Parts[j].ToolCallID = fmt.Sprintf("t%dc%d", i, j)
			}
			if rapid.IntRange(0, 5).Draw(t, "oddity") == 0 {
				tn.fail = []error{busy}
			}
			all = append(all, tn)
		}
		if rapid.IntRange(0, 9).Draw(t, "fails") == 0 && name != "writer" {
			return append(all, turn{fail: []error{errors.New("no such model")}})
		}
		return append(all, says(name+" answers"), says(name+" answers"))
	}
	const ask = ` {"query":"QUERY"}`
	return map[string][]turn{
		"writer": turns("writer", "helper"+ask, "other"+ask, "helper"+ask, "ask", "other {}"),
		"helper": turns("helper", "other"+ask, "other"+ask, "confirm"),
		"other":  turns("other"),
	}
}

func newRandomTeam(t testing.TB, rt *rapid.T) *bench {
	b := newTeam(t, teams(rt))
	b.maxRetries, b.maxSteps = 100, 100_000
	b.atOnce = rapid.SampledFrom([]int{1, 2, 16}).Draw(rt, "at once")
	b.model = teamModel{b.script}
	return b
}

// Whatever several Experts do, the journal folds to what was shown, every start of a Run
// ends, every call has one result, and usage adds up.
func TestRandomTeams(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newRandomTeam(t, rt)
		b.finish(job.Input{Query: "go"})
		b.checkJournal()
		b.checkFold()
		b.checkTree()
	})
}

// However often a job of several Experts is killed, in whatever Run, resuming it loses
// nothing that was recorded, pays no recorded generation again and repeats no call.
func TestRandomTeamKills(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newRandomTeam(t, rt)
		b.killAndFinish(rt, 60)
		b.checkJournal()
		b.checkFold()
		b.checkTree()
		ran := map[string]int{}
		for _, id := range b.tools.ran {
			if ran[id]++; ran[id] > 1 && !b.isRead(id) {
				rt.Errorf("call %s ran %d times", id, ran[id])
			}
		}
		generated := map[string]int{}
		for r, err := range b.store.Read(t.Context(), "job", 0) {
			if err != nil {
				rt.Fatal(err)
			}
			if calls, ok := r.Event.Body.(event.CallTools); ok {
				if id := calls.ToolCalls[0].ID; generated[id] > 0 {
					rt.Errorf("the turn of call %s was generated again", id)
				} else {
					generated[id]++
				}
			}
		}
	})
}

// isRead reports whether a call may be repeated.
func (b *bench) isRead(id string) bool {
	for r, err := range b.store.Read(context.Background(), "job", 0) {
		if calls, ok := r.Event.Body.(event.CallTools); ok && err == nil {
			for _, c := range calls.ToolCalls {
				if c.ID == id {
					return c.ToolName == "read"
				}
			}
		}
	}
	return false
}

// checkTree checks that each delegate's Run belongs to one call, that no Run is left open or
// waiting, and that steps add up.
func (b *bench) checkTree() {
	b.t.Helper()
	children := map[string]string{} // call by Run
	h := NewHistory()
	for r, err := range b.store.Read(context.Background(), "job", 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		h.Apply(r)
		body, ok := r.Event.Body.(event.StartRun)
		if !ok || body.DelegatedBy == nil {
			continue
		}
		call := body.DelegatedBy.RunID + " " + body.DelegatedBy.ToolCallID
		if other, known := children[r.Event.RunID]; known && other != call {
			b.t.Errorf("run %s works on %s and on %s", r.Event.RunID, other, call)
		}
		children[r.Event.RunID] = call
	}
	steps := 0
	for id, s := range h.runs {
		steps += s.spent.Steps
		if s.phase != stopped {
			b.t.Errorf("run %s of %s is in phase %d", id, s.Expert.Key, s.phase)
		}
		if s.Status == event.StatusStoppedByDelegate {
			b.t.Errorf("run %s of %s waits still", id, s.Expert.Key)
		}
	}
	if steps != h.Job.TotalSteps {
		b.t.Errorf("the Runs have %d steps, the job %d", steps, h.Job.TotalSteps)
	}
}
