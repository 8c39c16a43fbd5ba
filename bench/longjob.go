//go:build unix

package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

const steps = 1000

// longJob runs a job of 1,000 steps with one tool call each and measures what a step
// costs at its beginning and at its end.
func longJob(ctx context.Context, dir string) ([]figure, error) {
	dir = filepath.Join(dir, "long")
	var marks []uint64 // bytes allocated so far, after each step
	counting := &countingStore{Store: file.New(dir, nil)}
	err := driveIn(ctx, counting, steps, func() {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		marks = append(marks, stats.TotalAlloc)
	})
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(dir, "jobs", "long", "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(marks) != steps {
		return nil, fmt.Errorf("the job took %d steps, want %d", len(marks), steps)
	}
	return []figure{
		{"journal bytes a step, 1,000 steps", float64(info.Size()) / steps, 4096, "%.0f"},
		{"commits to disk a step", float64(counting.commits.Load()) / steps, 2.01, "%.2f"},
		// The request that the provider is sent is part of it, as a list of pointers.
		{"bytes allocated a step, last 200 to first 200", median(marks[steps-200:]) / median(marks[:200]), 2, "%.2f"},
	}, nil
}

// drive runs a job of n steps in a storage directory and calls step after each.
func drive(ctx context.Context, dir string, n int, step func()) error {
	return driveIn(ctx, file.New(dir, nil), n, step)
}

func driveIn(ctx context.Context, s store.Store, n int, step func()) error {
	bench := &expert.Expert{Key: "bench", Name: "bench", Version: "1.0.0", Instruction: "Work."}
	parts := engine.Parts{Model: caller{n}, Store: s, Lean: true, Emit: func(e event.Event) error {
		if e.Type() == "continueToNextStep" {
			step()
		}
		return nil
	}}
	_, err := engine.Execute(ctx, spec("long", bench, n+1), parts, only(noop{answer: `{"ok":true}`}))
	return err
}

// spec is a job of one Expert with so many steps.
func spec(id string, e *expert.Expert, steps int) job.Spec {
	s := job.Spec{JobID: id, Expert: e.Key, Experts: []*expert.Expert{e}, Input: job.Input{Query: "go"}}
	s.Limits.MaxSteps = steps
	return s
}

// only gives an Expert one skill.
func only(tools skill.Skill) engine.Opener {
	return func(ctx context.Context, _ engine.SkillRequest) (*skill.Toolbox, error) {
		return skill.NewToolbox(ctx, []skill.Source{{Skill: tools}}, slog.New(slog.DiscardHandler))
	}
}

// median returns the median distance of marks, which a buffer that grows now and then
// does not disturb.
func median(marks []uint64) float64 {
	var steps []uint64
	for i := 1; i < len(marks); i++ {
		steps = append(steps, marks[i]-marks[i-1])
	}
	slices.Sort(steps)
	return float64(steps[len(steps)/2])
}

// caller is a model that calls a tool in every turn but the last, never twice with the
// same words: that would be taken for a loop.
type caller struct{ turns int }

func (c caller) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		answer := &model.Answer{Finish: model.FinishStop, Parts: []event.Part{{Type: event.TextPart, Text: "Done."}}}
		if req.Turn < c.turns {
			answer = &model.Answer{Finish: model.FinishToolCalls, Parts: []event.Part{{
				Type: event.ToolCallPart, ToolCallID: fmt.Sprintf("call_%d", req.Turn), ToolName: "note", Args: fmt.Appendf(nil, `{"text":"line %4d of an ordinary length, as tools have them"}`, req.Turn),
			}}}
		}
		yield(model.Chunk{Answer: answer}, nil)
	}
}

// noop is a skill with one tool that does nothing, and says always the same.
type noop struct{ answer string }

func (noop) Name() string { return "noop" }
func (noop) Close() error { return nil }
func (noop) Tools(context.Context) ([]skill.Tool, error) {
	return []skill.Tool{{Name: "note", InputSchema: rawjson.Value(`{"type":"object"}`)}}, nil
}
func (n noop) Call(context.Context, event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: n.answer}}}, nil
}

// countingStore counts commits that had something to write.
type countingStore struct {
	store.Store
	commits atomic.Int64
}

func (s *countingStore) Open(ctx context.Context, id string) (store.Journal, error) {
	j, err := s.Store.Open(ctx, id)
	return &countingJournal{Journal: j, store: s}, err
}

type countingJournal struct {
	store.Journal
	store *countingStore
	dirty atomic.Bool
}

func (j *countingJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	j.dirty.Store(true)
	return j.Journal.Append(ctx, e)
}

func (j *countingJournal) Commit(ctx context.Context) error {
	if j.dirty.Swap(false) {
		j.store.commits.Add(1)
	}
	return j.Journal.Commit(ctx)
}
