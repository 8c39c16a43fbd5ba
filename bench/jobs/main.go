// Command jobs runs jobs with the API for programs that embed perstack, some of them at
// once, each with a history on disk. The model answers at once, from this process.
//
// DIR has the workspace, DIR/files, and gets the history.
//
//	jobs DIR JOBS AT-ONCE STEPS
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store/file"
)

func main() {
	perstack.Init()
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("call it as: jobs DIR JOBS AT-ONCE STEPS")
	}
	var numbers [3]int
	for i, text := range args[1:] {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	jobs, atOnce, steps := numbers[0], numbers[1], numbers[2]
	history := file.New(filepath.Join(args[0], "history"), nil)
	// Those that shall run at once begin at once, however slowly they are started.
	var begun sync.WaitGroup
	if atOnce >= jobs {
		begun.Add(jobs)
	}
	begin := func() {
		if atOnce >= jobs {
			begun.Done()
			begun.Wait()
		}
	}
	errs := make([]error, jobs)
	seats := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range jobs {
		seats <- struct{}{}
		all.Go(func() {
			defer func() { <-seats }()
			errs[i] = work(ctx, steps, job.Spec{
				JobID:     fmt.Sprintf("job%d", i),
				Expert:    "bench",
				Experts:   []*expert.Expert{{Key: "bench", Name: "bench", Instruction: "Work."}},
				Input:     job.Input{Query: "go"},
				Workspace: job.Workspace{Dir: filepath.Join(args[0], "files")},
			}, perstack.Parts{Model: reader{steps, begin}, Store: history})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// work runs one job to its end.
func work(ctx context.Context, steps int, spec job.Spec, parts perstack.Parts) error {
	asked, completed := 0, false
	for e, err := range perstack.Run(ctx, spec, parts) {
		if err != nil {
			return err
		}
		switch e.Body.(type) {
		case event.StartGeneration:
			asked++
		case event.CompleteRun:
			completed = true
		}
	}
	if asked != steps || !completed {
		return fmt.Errorf("%s took %d steps, want %d; completed %t", spec.JobID, asked, steps, completed)
	}
	return nil
}

// reader is a model that reads a file in every turn but the last, and never the same twice
// in a row: that would be taken for a loop.
type reader struct {
	turns int
	begin func() // called in the first turn
}

func (r reader) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if req.Turn == 0 {
			r.begin()
		}
		answer := &model.Answer{Finish: model.FinishStop, Parts: []event.Part{{Type: event.TextPart, Text: "Done."}}}
		if req.Turn < r.turns-1 {
			answer = &model.Answer{Finish: model.FinishToolCalls, Parts: []event.Part{{
				Type: event.ToolCallPart, ToolCallID: fmt.Sprintf("call_%d", req.Turn), ToolName: "readTextFile", Args: fmt.Appendf(nil, `{"path":"text%d.txt"}`, req.Turn%2),
			}}}
		}
		yield(model.Chunk{Answer: answer}, nil)
	}
}
