// Package perstack runs Experts inside other programs: the same engine, tools and
// journal as the perstack command, without the command line.
//
// An Expert comes from a perstack.toml ([expert.Load], [expert.Parse]); a model from a
// package below model. [Run] puts them to work and yields what happens:
//
//	for e, err := range perstack.Run(ctx, perstack.Options{Expert: x, Model: m, Query: "…", Workspace: dir}) {
//		if err != nil {
//			return err
//		}
//		if done, ok := e.Body.(event.CompleteRun); ok {
//			fmt.Println(*done.Text)
//		}
//	}
//
// The package reads no flags, no environment and no configuration of its own.
package perstack

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// Options say what to run. Expert, Model and Workspace are required; everything else
// has a default.
type Options struct {
	Expert    *expert.Expert
	Model     model.Model
	Workspace string // directory that the file tools work in

	// Query is the task. With Continue, it goes on top of the recorded conversation;
	// without a query, an unfinished Run is resumed.
	Query string
	// Continue goes on with the job JobID of Store, from the checkpoint From if that
	// is given. Answer answers the question that the job waits with.
	Continue bool
	From     string
	Answer   *event.ToolAnswer

	JobID string      // default: a new id
	Store store.Store // default: a new one in memory

	MaxSteps   int           // default 100
	MaxRetries int           // default 5; negative for none
	Timeout    time.Duration // of one generation; default 5 minutes, negative for none
	Reasoning  expert.ReasoningBudget

	Provider      string // recorded and shown, like the next
	ModelName     string
	ContextWindow int // of the model, in tokens; 0 when unknown

	Protected []string      // paths that the file tools may not reach
	Environ   []string      // commands get the harmless part of it
	Source    engine.Source // default: the system's clock and random ids
	Log       *slog.Logger  // default: nothing is logged
}

// Run runs an Expert and yields its events in their full form, each after it was
// recorded. How the run ended is told by its last events; an error means that it could
// not start, or that its end could not be recorded. Breaking out of the loop stops the
// run and saves it.
func Run(ctx context.Context, opts Options) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if err := opts.complete(); err != nil {
			yield(event.Event{}, err)
			return
		}
		stopped := false
		emit := func(e event.Event) error {
			if !yield(e, nil) {
				stopped = true
				return errors.New("the program that embeds perstack stopped listening")
			}
			return nil
		}
		runtime := &local.Runtime{
			Model: opts.Model, Store: opts.Store, Source: opts.Source, Log: opts.Log,
			Workspace: opts.Workspace, Protected: opts.Protected, Environ: opts.Environ,
		}
		_, err := runtime.Run(ctx, engine.Job{
			ID:     opts.JobID,
			Expert: opts.Expert,
			Input: engine.Input{
				Query: opts.Query, Continue: opts.Continue, From: opts.From, Answer: opts.Answer,
			},
			MaxSteps:   opts.MaxSteps,
			MaxRetries: max(opts.MaxRetries, 0),
			Timeout:    max(opts.Timeout, 0),
			Reasoning:  opts.Reasoning,
			Experts:    []string{opts.Expert.Key},
			Provider:   opts.Provider,
			ModelName:  opts.ModelName,

			ContextWindow: opts.ContextWindow,

			Version: version.String(),
		}, engine.Listener{Emit: emit, Full: true})
		if err != nil && !stopped {
			yield(event.Event{}, err)
		}
	}
}

// complete checks what is required and fills in the rest.
func (o *Options) complete() error {
	switch {
	case o.Expert == nil:
		return errors.New("perstack: Options.Expert is nil; take it from expert.Load")
	case o.Model == nil:
		return errors.New("perstack: Options.Model is nil; make one with a package below model")
	case o.Workspace == "":
		return errors.New("perstack: Options.Workspace is empty; name a directory")
	case o.Query == "" && !o.Continue:
		return errors.New("perstack: Options.Query is empty; say what the Expert shall do")
	}
	o.MaxSteps = cmp.Or(o.MaxSteps, expert.DefaultMaxSteps)
	o.MaxRetries = cmp.Or(o.MaxRetries, expert.DefaultMaxRetries)
	o.Timeout = cmp.Or(o.Timeout, expert.DefaultTimeout)
	o.Reasoning = cmp.Or(o.Reasoning, expert.DefaultReasoningBudget)
	if o.Source == nil {
		o.Source = engine.SystemSource()
	}
	o.JobID = cmp.Or(o.JobID, o.Source.NewID())
	if o.Store == nil {
		o.Store = memory.New()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
