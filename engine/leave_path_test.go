package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// A gatekeeper asks about paths outside of the sandbox, unless a rule or a grant decides. It allows all
// calls. Nothing is allowed while a Run plans.
type gatekeeper struct {
	rules  map[string]job.Verdict // by path
	stored []string               // "expert path"
	once   bool                   // no answer is kept
}

func (g *gatekeeper) Decide(_ context.Context, q CallRequest) Decision {
	if q.Leaves == nil {
		return Decision{Do: job.Allow, By: "the preset"}
	}
	key := q.Experts[len(q.Experts)-1]
	d := Decision{Do: job.Ask, By: "the preset", Once: g.once, Effect: *q.Leaves, Digest: key + " " + q.Call.SkillName + " " + q.Leaves.Path, Sandbox: "full"}
	switch do := g.rules[q.Leaves.Path]; {
	case q.Plan, do == job.Deny && q.Leaves.Path == "/silent":
		return Decision{Do: job.Deny, By: "a rule"}
	case do == job.Deny:
		return Decision{Do: job.Deny, By: "a rule", Why: "because"}
	case do == job.Allow,
		slices.Contains(g.stored, key+" "+q.Leaves.Path),
		slices.ContainsFunc(q.Grants, func(g Grant) bool { return g.Leaves && g.Digest == d.Digest }):
		return Decision{Do: job.Allow, By: "a rule"}
	}
	return d
}

// A visit is what a program can do during a call: ask for a path, and see which are open.
type visit struct {
	expert, callID string
	leave          func(path string) Leaving
	opened         func() string
}

// visits gives each Expert a tool visit that calls a function.
func (b *bench) visits(g *gatekeeper, do func(visit)) {
	b.approvals = g
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		programs := &server{
			name: "programs",
			list: func(context.Context) ([]skill.Tool, error) { return []skill.Tool{{Name: "visit"}}, nil },
			call: func(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
				do(visit{req.Expert.Key, call.ID, func(path string) Leaving {
					return req.Leave(ctx, "programs", event.Effect{Kind: event.PathEffect, Path: path, Named: path + "/x"})
				}, func() string { return strings.Join(req.Opened(ctx, "programs"), " ") }})
				return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: "visited"}}}, nil
			},
		}
		sources := []skill.Source{{Skill: &tools{name: event.BaseSkill}}, {Skill: programs}}
		for _, d := range req.Delegates {
			sources = append(sources, skill.Source{Skill: delegate.All(d)[0]})
		}
		return skill.NewToolbox(ctx, sources, slog.New(slog.DiscardHandler))
	}
}

// A reader answers questions about paths.
type reader struct {
	answer event.Answer
	err    error
	mu     sync.Mutex
	asked  []string // "path call"
}

func (r *reader) Ask(_ context.Context, q event.Request) (event.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q.Approval.Effect.Path+" "+q.Approval.Call.ID)
	return r.answer, r.err
}

const around = ". Do not try to get the same effect in another way; continue without it, or say what is missing."

// What comes of a question about a path, and what the model is told. An answer counts from the next call
// on, and is recorded.
func TestLeaveForPath(t *testing.T) {
	for _, tt := range []struct {
		name   string
		path   string
		plan   bool
		reader *reader
		want   Leaving
		opened string
		wrote  []string
	}{
		{name: "no one to ask", path: "/a"},
		{name: "the user allows", path: "/a", reader: &reader{answer: event.Answer{Allow: true}}, want: Leaving{Allow: true}, opened: "/a", wrote: []string{"/a? c1", "true by user c1"}},
		{name: "the user denies", path: "/a", reader: &reader{answer: event.Answer{Reason: "no"}}, want: Leaving{Denied: "denied by the user: no" + around}, wrote: []string{"/a? c1", "false by user c1"}},
		{name: "no reason", path: "/a", reader: &reader{}, want: Leaving{Denied: "denied by the user" + around}, wrote: []string{"/a? c1", "false by user c1"}},
		{name: "no answer", path: "/a", reader: &reader{err: ErrNoAnswer}, wrote: []string{"/a? c1", "false by timeout c1"}},
		{name: "denied by a rule", path: "/deny", reader: &reader{answer: event.Answer{Allow: true}}, want: Leaving{Denied: "denied by a rule: because" + around}},
		{name: "planning", path: "/a", plan: true, reader: &reader{answer: event.Answer{Allow: true}}},
		{name: "planning, denied by a rule", path: "/deny", plan: true},
		{name: "planning, allowed by a rule", path: "/allow", plan: true},
		{name: "denied by a rule that does not say why", path: "/silent", reader: &reader{answer: event.Answer{Allow: true}}},
		{name: "allowed by a rule", path: "/allow", want: Leaving{Allow: true}, opened: "/allow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, does("visit"), does("visit"), says("done"))
			b.plan = tt.plan
			if tt.reader != nil {
				b.approver = tt.reader
			}
			var got []Leaving
			var opened []string
			b.visits(&gatekeeper{rules: map[string]job.Verdict{"/deny": job.Deny, "/silent": job.Deny, "/allow": job.Allow}}, func(v visit) {
				opened = append(opened, v.opened())
				got = append(got, v.leave(tt.path)) // the second time, no one is asked
			})
			if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
				t.Errorf("left as %+v", r)
			}
			if !slices.Equal(got, []Leaving{tt.want, tt.want}) || !slices.Equal(opened, []string{"", tt.opened}) {
				t.Errorf("decided %+v, opened %q", got, opened)
			}
			if wrote := b.approvalsWritten(); !slices.Equal(wrote, tt.wrote) {
				t.Errorf("recorded %q", wrote)
			}
		})
	}
}

// How long answers hold: in the Run that asked, in a later Run of the same Expert, in a delegate, and
// how often the user is asked. A rule that denies later counts.
func TestLeaveForPathAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer event.Answer
		once   bool // no answer is kept
		asked  int
		want   string // what each visit could use, before it asked
	}{
		{"once", event.Answer{Allow: true}, false, 3, "writer:- writer:/a helper:- writer:/a writer:-"},
		{"for the job", event.Answer{Allow: true, Scope: event.ScopeJob}, false, 2, "writer:- writer:/a helper:- writer:/a writer:/a"},
		{"for the job, but a rule wants to be asked", event.Answer{Allow: true, Scope: event.ScopeJob}, true, 3, "writer:- writer:/a helper:- writer:/a writer:-"},
		{"denied", event.Answer{}, false, 2, "writer:- writer:- helper:- writer:- writer:-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newTeam(t, map[string][]turn{
				"writer": {does("visit"), does("visit"), does(`helper {"query":"x"}`), does("visit"), says("done"), does("visit"), says("done")},
				"helper": {does("visit"), says("done")},
			})
			r, g := &reader{answer: tt.answer}, &gatekeeper{once: tt.once}
			b.approver = r
			var seen []string
			b.visits(g, func(v visit) {
				opened := v.opened()
				if opened == "" {
					opened = "-"
				}
				seen = append(seen, v.expert+":"+opened)
				if allowed := v.leave("/a").Allow; allowed != tt.answer.Allow {
					t.Errorf("%s: %t", v.expert, allowed)
				}
			})
			b.must(job.Input{Query: "go"})
			b.must(job.Input{Query: "again", Continue: true})
			if got := strings.Join(seen, " "); got != tt.want || len(r.asked) != tt.asked {
				t.Errorf("seen %s, asked %q", got, r.asked)
			}
		})
	}
}

// Twenty programs that fail at the same path, at the same time and later, are one question. It names
// the call that asked.
func TestLeaveForPathOnce(t *testing.T) {
	for _, allow := range []bool{true, false} {
		b := newBench(t, does("visit", "visit"), says("done"))
		r := &reader{answer: event.Answer{Allow: allow}}
		b.approver = r
		begun, ended := make(chan struct{}), make(chan struct{})
		b.visits(&gatekeeper{}, func(v visit) {
			if v.callID != "c1" {
				close(begun)
				<-ended
				return
			}
			defer close(ended)
			<-begun // the other call is newer, and runs
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					for range 2 {
						if got := v.leave("/a"); got.Allow != allow {
							t.Errorf("%+v", got)
						}
					}
				})
			}
			all.Wait()
		})
		b.must(job.Input{Query: "go"})
		if !slices.Equal(r.asked, []string{"/a c1"}) {
			t.Errorf("asked %q", r.asked)
		}
	}
}

// An answer outlives the process that got it. One that no seal proves does not count.
func TestLeaveForPathAfterKill(t *testing.T) {
	for _, trust := range []bool{false, true} {
		b := newBench(t, does("visit"), does("visit"), says("done"))
		r := &reader{answer: event.Answer{Allow: true}}
		b.approver = r
		var opened []string
		b.visits(&gatekeeper{}, func(v visit) {
			opened = append(opened, v.opened())
			v.leave("/a")
		})
		b.killedAfter("writer", "approvalAnswered", job.Input{Query: "go"})
		opened = nil
		b.must(job.Input{Continue: true, TrustHistory: trust})
		want, asked := []string{"/a"}, 1
		if trust {
			want, asked = []string{""}, 2
		}
		if !slices.Equal(opened, want) || len(r.asked) != asked {
			t.Errorf("trusted %t: opened %q, asked %q", trust, opened, r.asked)
		}
	}
}

// Stored answers open their paths without a failed call, to the Expert that has them. Rules count first.
func TestLeaveForStoredPaths(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does("visit"), does(`helper {"query":"x"}`), says("done")},
		"helper": {does("visit"), says("done")},
	})
	g := &gatekeeper{rules: map[string]job.Verdict{"/deny": job.Deny}, stored: []string{"writer /a", "writer /deny", "writer /b", "helper /c"}}
	b.grantedPaths = func(expertKey, skillName string) []string {
		return map[string][]string{"writer programs": {"/deny", "/b", "/a", "/b", "/revoked"}, "helper programs": {"/a", "/c"}}[expertKey+" "+skillName]
	}
	var seen []string
	b.visits(g, func(v visit) { seen = append(seen, v.expert+": "+v.opened()) })
	b.must(job.Input{Query: "go"})
	if want := []string{"writer: /a /b", "helper: /c"}; !slices.Equal(seen, want) {
		t.Errorf("seen %q", seen)
	}
}

// There is an end to what rules and stored answers open.
func TestLeaveForManyPaths(t *testing.T) {
	b := newBench(t, does("visit"), says("done"))
	g := &gatekeeper{rules: map[string]job.Verdict{"": job.Allow}}
	stored := []string{""} // as for a host
	b.grantedPaths = func(string, string) []string { return stored }
	b.visits(g, func(v visit) {
		for i := range 2 * maxOpened {
			path := fmt.Sprintf("/p%d", i)
			g.rules[path] = job.Allow
			v.leave(path)
		}
		for range 2 {
			if n := len(strings.Fields(v.opened())); n != maxOpened || strings.HasPrefix(v.opened(), " ") {
				t.Errorf("%d paths are open: %q", n, v.opened())
			}
			stored = slices.Collect(maps.Keys(g.rules))
		}
	})
	b.must(job.Input{Query: "go"})
	var set pathSet
	for path := range g.rules {
		set.add(path)
	}
	if n := len(set.list()); n != maxOpened {
		t.Errorf("%d paths are kept", n)
	}
}

// An answer is for one path.
func TestLeaveForOtherPath(t *testing.T) {
	b := newBench(t, does("visit"), says("done"))
	r := &reader{answer: event.Answer{Allow: true}}
	b.approver = r
	b.visits(&gatekeeper{}, func(v visit) {
		v.leave("/a")
		v.leave("/b")
	})
	b.must(job.Input{Query: "go"})
	if !slices.Equal(r.asked, []string{"/a c1", "/b c1"}) {
		t.Errorf("asked %q", r.asked)
	}
}

// Nothing outside of the sandbox is opened while a Run plans, nor when it has stopped, whatever rules
// and stored answers say.
func TestLeaveWithoutWork(t *testing.T) {
	g := &gatekeeper{rules: map[string]job.Verdict{"/a": job.Allow}}
	for _, plan := range []bool{false, true} {
		b := newBench(t, does("visit"), says("done"))
		b.plan = plan
		b.grantedPaths = func(string, string) []string { return []string{"/a"} }
		var late visit
		b.visits(g, func(v visit) {
			if got, opened := v.leave("/a"), v.opened(); got.Allow == plan || (opened == "/a") == plan {
				t.Errorf("plan = %t: %+v, opened %q", plan, got, opened)
			}
			late = v
		})
		b.must(job.Input{Query: "go"})
		if got, opened := late.leave("/a"), late.opened(); got.Allow || opened != "" {
			t.Errorf("after the end: %+v, opened %q", got, opened)
		}
	}
}
