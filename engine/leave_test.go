package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// A border decides about hosts outside of the sandbox by their first label, and asks about others. It
// allows all calls.
type border struct{}

func (border) Decide(_ context.Context, q CallRequest) Decision {
	if q.Leaves == nil {
		return Decision{Do: job.Allow, By: "the preset"}
	}
	d := Decision{Do: job.Ask, By: "the preset", Effect: *q.Leaves, Digest: q.Experts[len(q.Experts)-1] + " " + q.Call.SkillName + " " + q.Leaves.Host, Sandbox: "full"}
	switch first, _, _ := strings.Cut(q.Leaves.Host, "."); {
	case first == "listed":
		d.Do = job.Allow
	case first == "forbidden":
		d.Do = job.Deny
	case slices.ContainsFunc(q.Grants, func(g Grant) bool { return g.Leaves && g.Digest == d.Digest }):
		d.Do = job.Allow
	}
	return d
}

// A guard answers questions about leaving the sandbox.
type guard struct {
	mu     sync.Mutex
	asked  []event.Request
	answer func(ctx context.Context, host string) (event.Answer, error)
}

func (g *guard) Ask(ctx context.Context, q event.Request) (event.Answer, error) {
	g.mu.Lock()
	g.asked = append(g.asked, q)
	g.mu.Unlock()
	return g.answer(ctx, q.Approval.Effect.Host)
}

func says1(answer event.Answer) func(context.Context, string) (event.Answer, error) {
	return func(context.Context, string) (event.Answer, error) { return answer, nil }
}

// leaves has the tool sleep do something that can leave the sandbox.
func (b *bench) leaves(do func(leave func(host string) bool)) {
	b.approvals = border{}
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		leave := func(host string) bool {
			return req.Leave(b.t.Context(), "tools", event.Effect{Kind: event.HostEffect, Host: host}).Allow
		}
		if leave("listed.example:443") {
			b.t.Error("the sandbox was left before the Run had begun")
		}
		b.tools.onSleep = func() { do(leave) }
		return b.skillsOf(ctx, req)
	}
}

// approvalsWritten returns what was asked and answered, in the order of the journal.
func (b *bench) approvalsWritten() (all []string) {
	for _, r := range b.written() {
		switch e := r.Event.Body.(type) {
		case event.ApprovalRequested:
			all = append(all, fmt.Sprintf("%s? %s", e.Effect.Host+e.Effect.Path, e.ToolCallID))
		case event.ApprovalAnswered:
			all = append(all, fmt.Sprintf("%t by %s %s", e.Allow, e.By, e.ToolCallID))
		}
	}
	return all
}

func TestLeave(t *testing.T) {
	const ask = "a.example:443"
	for _, tt := range []struct {
		name   string
		host   string
		answer func(context.Context, string) (event.Answer, error) // nil without an approver
		want   bool
		wrote  []string
	}{
		{name: "allowed by a rule", host: "listed.example:443", want: true},
		{name: "denied by a rule", host: "forbidden.example:443", answer: says1(event.Answer{Allow: true})},
		{name: "no approver", host: ask},
		{name: "no answer", host: ask, answer: func(context.Context, string) (event.Answer, error) { return event.Answer{}, ErrNoAnswer },
			wrote: []string{"a.example:443? c1", "false by timeout c1"}},
		{name: "the user allows", host: ask, answer: says1(event.Answer{Allow: true}), want: true, wrote: []string{"a.example:443? c1", "true by user c1"}},
		{name: "the user denies", host: ask, answer: says1(event.Answer{Reason: "no"}), wrote: []string{"a.example:443? c1", "false by user c1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, does("sleep"), says("done"))
			if tt.answer != nil {
				b.approver = &guard{answer: tt.answer}
			}
			var got bool
			b.leaves(func(leave func(string) bool) { got = leave(tt.host) })
			r := b.must(job.Input{Query: "go"})
			if r.Status != event.StatusCompleted || got != tt.want {
				t.Errorf("%v, left as %+v", got, r)
			}
			if wrote := b.approvalsWritten(); !slices.Equal(wrote, tt.wrote) {
				t.Errorf("recorded %q", wrote)
			}
			if n := len(b.tools.ran); n != 1 { // the same call continues
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

// The user is shown the Expert, and the call that runs.
func TestLeaveRequest(t *testing.T) {
	b := newBench(t, does("read", `sleep {"n":1}`), says("done"))
	g := &guard{answer: says1(event.Answer{Allow: true})}
	b.approver = g
	b.redact = func(text string) string { return strings.ReplaceAll(text, "s3cret", "[redacted: KEY]") }
	b.leaves(func(leave func(string) bool) { leave("s3cret.example:443") })
	b.must(job.Input{Query: "go"})
	if len(g.asked) != 1 {
		t.Fatalf("asked %d times", len(g.asked))
	}
	a := g.asked[0].Approval
	if a.Call.ID != "c2" || a.Call.SkillName != "tools" || a.Sandbox != "full" || !slices.Equal(a.Experts, []string{"writer"}) {
		t.Errorf("asked %+v", a)
	}
	if a.Effect.Host != "[redacted: KEY].example:443" {
		t.Errorf("the user is shown %s", a.Effect.Host)
	}
}

// How long answers hold, also when the job is continued.
func TestLeaveAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer event.Answer
		want   []bool
		asked  int
	}{
		{"once", event.Answer{Allow: true, Scope: event.ScopeOnce}, []bool{true, true, true}, 3},
		{"for the job", event.Answer{Allow: true, Scope: event.ScopeJob}, []bool{true, true, true}, 1},
		{"denied", event.Answer{}, []bool{false, false, false}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, does("sleep"), says("done"), does("sleep"), says("done"))
			g := &guard{answer: says1(tt.answer)}
			b.approver = g
			var got []bool
			times := 2
			b.leaves(func(leave func(string) bool) {
				for range times {
					got = append(got, leave("a.example:443"))
				}
			})
			b.must(job.Input{Query: "go"})
			times = 1
			b.must(job.Input{Query: "again", Continue: true})
			if !slices.Equal(got, tt.want) || len(g.asked) != tt.asked {
				t.Errorf("%v, and the user was asked %d times", got, len(g.asked))
			}
		})
	}
}

// A grant to leave the sandbox is none for the call that asked for it, nor the other way round.
func TestLeaveIsNoCall(t *testing.T) {
	b := newBench(t, does("sleep"), says("done"))
	b.approver = &guard{answer: says1(event.Answer{Allow: true, Scope: event.ScopeJob})}
	b.leaves(func(leave func(string) bool) { leave("a.example:443") })
	b.must(job.Input{Query: "go"})
	h, err := Load(t.Context(), b.store, "job")
	if err != nil {
		t.Fatal(err)
	}
	grants := h.grantsOf("writer")
	if len(grants) != 1 || !grants[0].Leaves || grants[0].Tool != "" {
		t.Errorf("grants %+v", grants)
	}
	if len(h.Waiting()) > 0 || len(h.grantsOf("other")) > 0 {
		t.Errorf("%+v waits", h.Waiting())
	}
}

// A program that asks for ever is stopped like a model that does.
func TestLeaveDenials(t *testing.T) {
	b := newBench(t, does("sleep"), says("done"))
	g := &guard{answer: says1(event.Answer{})}
	b.approver = g
	b.leaves(func(leave func(string) bool) {
		for i := range 50 {
			if leave(fmt.Sprintf("h%d.example:443", i)) {
				t.Error("a host was allowed")
			}
		}
	})
	r := b.must(job.Input{Query: "go"})
	if len(g.asked) != maxDenials || r.Status != event.StatusStoppedByLimit || r.Limit.Limit != event.LimitDenials {
		t.Errorf("asked %d times, left as %+v", len(g.asked), r)
	}
}

// A thousand hosts at once: few questions are open, and the others are refused at once.
func TestLeaveFlood(t *testing.T) {
	b := newBench(t, does("sleep"), says("done"))
	var refused atomic.Int64
	flooded := make(chan struct{})
	g := &guard{answer: func(ctx context.Context, _ string) (event.Answer, error) {
		select {
		case <-flooded: // all others were refused while this question was open
		case <-ctx.Done():
			t.Error("the other hosts wait")
		}
		return event.Answer{Allow: true}, nil
	}}
	b.approver = g
	b.leaves(func(leave func(string) bool) {
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				if !leave(fmt.Sprintf("h%d.example:443", i)) && refused.Add(1) == 1000-maxQuestions {
					close(flooded)
				}
			})
		}
		all.Wait()
	})
	b.must(job.Input{Query: "go"})
	if n := len(g.asked); n != maxQuestions || refused.Load() != 1000-maxQuestions {
		t.Errorf("asked %d times, refused %d", n, refused.Load())
	}
}

// Equal requests at the same time are one question, even if the program that asked first goes away.
func TestLeaveShared(t *testing.T) { synctest.Test(t, testLeaveShared) }

func testLeaveShared(t *testing.T) {
	b := newBench(t, does("sleep"), says("done"))
	var allowed atomic.Int64
	joined := make(chan struct{})
	g := &guard{answer: func(context.Context, string) (event.Answer, error) {
		<-joined
		return event.Answer{Allow: true}, nil
	}}
	b.approver = g
	b.approvals = border{}
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		b.tools.onSleep = func() {
			var all sync.WaitGroup
			effect := event.Effect{Kind: event.HostEffect, Host: "a.example:443"}
			first, leaves := context.WithCancel(t.Context())
			all.Go(func() {
				if req.Leave(first, "tools", effect).Allow {
					t.Error("a program that is gone left the sandbox")
				}
			})
			for range 50 {
				all.Go(func() {
					if req.Leave(t.Context(), "tools", effect).Allow {
						allowed.Add(1)
					}
				})
			}
			synctest.Wait()
			leaves()
			synctest.Wait()
			close(joined)
			all.Wait()
		}
		return b.skillsOf(ctx, req)
	}
	b.must(job.Input{Query: "go"})
	if allowed.Load() != 50 || len(g.asked) != 1 {
		t.Errorf("%d were allowed, the user was asked %d times", allowed.Load(), len(g.asked))
	}
}

// The user has two minutes, which count for no limit.
func TestLeaveTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, does("sleep"), says("done"))
		b.source = SystemSource()
		b.limits.MaxDuration = time.Minute
		b.approver = &guard{answer: func(ctx context.Context, _ string) (event.Answer, error) {
			<-ctx.Done()
			return event.Answer{}, context.Cause(ctx)
		}}
		b.leaves(func(leave func(string) bool) {
			began := time.Now()
			if leave("a.example:443") || time.Since(began) != maxLeaveTime {
				t.Errorf("it ended after %v", time.Since(began))
			}
		})
		if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
			t.Errorf("left as %+v", r)
		}
		if wrote := b.approvalsWritten(); !slices.Equal(wrote, []string{"a.example:443? c1", "false by timeout c1"}) {
			t.Errorf("recorded %q", wrote)
		}
	})
}

// A Run that is interrupted does not wait for the answer.
func TestLeaveInterrupted(t *testing.T) {
	b := newBench(t, does("sleep"), says("done"))
	ctx, cancel := context.WithCancelCause(t.Context())
	b.approver = &guard{answer: func(ctx context.Context, _ string) (event.Answer, error) {
		cancel(errors.New("enough"))
		<-ctx.Done()
		return event.Answer{}, context.Cause(ctx)
	}}
	b.leaves(func(leave func(string) bool) {
		if leave("a.example:443") {
			t.Error("the sandbox was left")
		}
	})
	r, err := b.run(ctx, job.Input{Query: "go"})
	if err != nil || r.Status != event.StatusStoppedByInterrupt {
		t.Errorf("left as %+v, %v", r, err)
	}
}

// An approver that is broken ends the Run.
func TestLeaveApproverFails(t *testing.T) {
	b := newBench(t, does("sleep"), says("done"))
	b.approver = &guard{answer: func(context.Context, string) (event.Answer, error) { return event.Answer{}, errTerminal }}
	b.leaves(func(leave func(string) bool) {
		if leave("a.example:443") {
			t.Error("the sandbox was left")
		}
	})
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusStoppedByError || r.Failure.Name != ApproverFailure {
		t.Errorf("left as %+v", r)
	}
}
