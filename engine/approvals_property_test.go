package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// Whatever is decided, answered, changed and killed: a call starts only if it was allowed as it is
// then, and none runs twice.
func TestApprovalsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		verdict := rapid.SampledFrom([]job.Verdict{job.Allow, job.Ask, job.Ask, job.Deny})
		names := []string{"act", "fail", "nothing", "broken"}
		do := make(map[string]job.Verdict)
		for _, name := range names {
			do[name] = verdict.Draw(rt, name)
		}
		var turns []turn
		for i := range rapid.IntRange(1, 3).Draw(rt, "turns") {
			tn := does(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(rt, "calls")...)
			for j := range tn.answer.Parts {
				tn.answer.Parts[j].ToolCallID = fmt.Sprintf("t%dc%d", i, j)
			}
			turns = append(turns, tn)
		}
		b := newBench(t, append(turns, says("done"))...)
		files := &referee{do: do}
		b.approvals = files
		inner := b.store
		in := job.Input{Query: "go"}
		for round := 0; ; round++ {
			if round < 4 {
				b.store = &killedStore{Store: inner, left: rapid.IntRange(0, 12).Draw(rt, "records")}
			}
			if round == 60 {
				rt.Fatal("the job does not end")
			}
			r, err := b.run(t.Context(), in)
			b.store = inner
			if recorded(inner) {
				in = job.Input{Continue: true}
			}
			if err == nil && r.Status == event.StatusCompleted {
				break
			}
			if err != nil && !errors.Is(err, errDead) {
				rt.Fatal(err)
			}
			if !recorded(inner) {
				continue
			}
			if w := b.load(inner).Waiting(); len(w) > 0 {
				b.answer(w[:rapid.IntRange(0, len(w)).Draw(rt, "answers")], rapid.Bool().Draw(rt, "allow"))
			}
			if round < 20 && rapid.IntRange(0, 3).Draw(rt, "edit") == 0 {
				files.write(fmt.Sprint(round))
			}
		}
		requested, allowed := make(map[string]string), make(map[string]string)
		for _, record := range b.written() {
			switch body := record.Event.Body.(type) {
			case event.ApprovalRequested:
				requested[body.ToolCallID] = body.Digest
				delete(allowed, body.ToolCallID)
			case event.ApprovalAnswered:
				if body.Allow && requested[body.ToolCallID] == body.Digest {
					allowed[body.ToolCallID] = body.Digest
				}
			case event.StartToolCall:
				name := b.toolOf(body.ToolCallID)
				if do[name] == job.Deny || do[name] == job.Ask && allowed[body.ToolCallID] == "" {
					rt.Errorf("%s (%s, %s) started", body.ToolCallID, name, do[name])
				}
			}
		}
		slices.Sort(b.tools.ran)
		if all := slices.Clone(b.tools.ran); len(slices.Compact(all)) != len(b.tools.ran) {
			rt.Errorf("a call ran twice: %v", b.tools.ran)
		}
	})
}

// toolOf returns the tool of a call.
func (b *bench) toolOf(callID string) string {
	for _, r := range b.written() {
		if body, ok := r.Event.Body.(event.CallTools); ok {
			for _, c := range body.ToolCalls {
				if c.ID == callID {
					return c.ToolName
				}
			}
		}
	}
	return ""
}
