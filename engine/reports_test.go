package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
)

// reporting is a bench whose skill reports while it is opened, called and closed.
func reporting(t *testing.T, report func(req SkillRequest, when string)) *bench {
	b := newBench(t, does("sTool"), says("done"))
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		report(req, "start")
		s := &server{
			name: "s",
			call: func(context.Context, event.ToolCall) (event.ToolResult, error) {
				report(req, "call")
				return event.ToolResult{}, nil
			},
			onStop: func() { report(req, "stop") },
		}
		return box(skill.Source{Skill: s})(ctx, req)
	}
	return b
}

// What a proxy decided and what a sandbox kept a program from is on record, also if it happened
// before the first record of the Run or after its end. What skills print is not.
func TestReportsAreRecorded(t *testing.T) {
	b := reporting(t, func(req SkillRequest, when string) {
		req.Report(event.ProxyAccess{Action: "blocked", Domain: when})
		req.Report(event.SandboxHint{Kind: "outside", Path: when})
		req.Report(event.SkillStderr{SkillName: "s", Message: when})
	})
	b.must(job.Input{Query: "go"})
	names := func(events []event.Event) string {
		var all []string
		for _, e := range events {
			switch body := e.Body.(type) {
			case event.ProxyAccess:
				all = append(all, "access:"+body.Domain)
			case event.SandboxHint:
				all = append(all, "hint:"+body.Path)
			case event.StartRun, event.EndToolCall, event.CompleteRun:
				all = append(all, string(e.Type()))
			case event.SkillStderr:
				if e.IsKept() {
					t.Error("a line of a skill is kept")
				}
			}
		}
		return strings.Join(all, " ")
	}
	const recorded = "startRun access:start hint:start access:call hint:call endToolCall completeRun access:stop hint:stop"
	if got := names(eventsOf(b.written())); got != recorded {
		t.Errorf("recorded %s\nwant     %s", got, recorded)
	}
	const told = "access:start hint:start startRun access:call hint:call completeRun access:stop hint:stop"
	if got := names(b.events); got != told {
		t.Errorf("told %s\nwant %s", got, told)
	}
}

// A program that connects again and again does not fill the journal, and is shown all the same.
func TestKeptReportsAreBounded(t *testing.T) {
	b := reporting(t, func(req SkillRequest, when string) {
		if when == "call" {
			for range maxKeptReports + 5 {
				req.Report(event.ProxyAccess{Action: "blocked", Domain: "evil.example"})
			}
		}
	})
	b.must(job.Input{Query: "go"})
	count := func(events []event.Event) (n int) {
		for _, e := range events {
			if _, ok := e.Body.(event.ProxyAccess); ok {
				n++
			}
		}
		return n
	}
	if recorded, told := count(eventsOf(b.written())), count(b.events); recorded != maxKeptReports || told != maxKeptReports+5 {
		t.Errorf("recorded %d, told %d", recorded, told)
	}
}

// A run does not continue with what is not in the journal.
func TestReportThatCannotBeRecorded(t *testing.T) {
	b := reporting(t, func(req SkillRequest, when string) {
		if when == "call" {
			req.Report(event.SandboxHint{Kind: "outside", Path: "/mnt"})
		}
	})
	b.store = refusing{b.store}
	if r, err := b.run(t.Context(), job.Input{Query: "go"}); !errors.Is(err, errNoSpace) || r.Status == event.StatusCompleted {
		t.Errorf("%+v, %v", r, err)
	}
}

var errNoSpace = errors.New("no space")

// refusing is a store whose journals take no hints.
type refusing struct{ store.Store }

func (s refusing) Open(ctx context.Context, jobID string) (store.Journal, error) {
	j, err := s.Store.Open(ctx, jobID)
	return noHints{j}, err
}

type noHints struct{ store.Journal }

func (j noHints) Append(ctx context.Context, e event.Event) (store.Record, error) {
	if _, ok := e.Body.(event.SandboxHint); ok {
		return store.Record{}, errNoSpace
	}
	return j.Journal.Append(ctx, e)
}
