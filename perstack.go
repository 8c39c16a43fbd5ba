// Package perstack runs Experts inside other programs: the same engine, tools and
// journal as the perstack command, without the command line.
//
// An Expert comes from a perstack.toml ([manifest.Load], [manifest.Parse]); a model from a
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
// An Expert that delegates to others works together with those of [Options.Experts]: each
// has a conversation of its own, and its events bear its name. Limits hold for all of
// them together.
//
// A program that lets Experts run commands, or gives them skills that are started as
// processes, calls [Init] first thing in main.
//
// The package reads no flags, no environment and no configuration of its own.
package perstack

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// Init makes the program able to run commands and the servers of skills. Call it at the
// top of main (and of TestMain), before flags are read and anything is started: they are
// supervised by a second process of the same program, which does its work inside this
// call and never returns from it. In all other processes Init does nothing but note that it was called;
// without it, every command and every such skill fails with an error that says so.
//
// The supervisor ends them all when the program ends, however it does. The memory
// and the environment of the program are its own to protect: commands run as its user.
func Init() { sandbox.Init() }

// Options say what to run. Expert, Model and Workspace are required; everything else
// has a default.
type Options struct {
	Expert    *expert.Expert
	Model     model.Model // for all Experts; providers.OpenTeam gives each the tools of the provider that it names
	Workspace string      // directory that the file tools work in

	// Experts are those that Expert may delegate to, and those that these may: all that
	// their Delegates name, by their names. Expert itself may be among them, so that all
	// Experts of a file will do.
	Experts []*expert.Expert

	// Query is the task. With Continue, it goes on top of the recorded conversation;
	// without a query, an unfinished Run is resumed.
	Query string
	// Continue goes on with the job JobID of Store, from the checkpoint From if that
	// is given. Answer answers the question that the job waits with. The conversation goes
	// to Model, whoever held it before: to keep it where it was is up to the program.
	Continue bool
	From     string
	Answer   *event.ToolAnswer

	JobID string      // default: a new id
	Store store.Store // default: a new one in memory

	// Limits of the whole job, with everything that is delegated in it. Those of the Expert
	// and of the others hold beside them, each for a Run of its own. A job that continues
	// goes on counting, but for the duration.
	MaxSteps    int           // default 100
	MaxTokens   int64         // in and out; 0 for no limit, like the next
	MaxCost     float64       // in US dollars
	MaxDuration time.Duration // of this call
	MaxDepth    int           // Experts that may delegate to one another in a row; default 8
	MaxParallel int           // Experts that may work at once; default 16

	MaxRetries int           // default 5; negative for none
	Timeout    time.Duration // of one generation; default 5 minutes, negative for none
	Reasoning  expert.ReasoningBudget

	MaxWorkspaceBytes int64 // what the files of the workspace may take; 0 for no limit

	Provider      string // recorded and shown, like the next
	ModelName     string
	ContextWindow int // of the model, in tokens; default: what is known of Provider and ModelName
	MaxOutput     int // tokens of one answer of the model; default: the same
	// Models go before what is known of models, by name; [manifest.Config] has them.
	Models map[string]expert.ModelEntry
	// Price is what the model costs; default: what is known of Provider and ModelName. With
	// a limit on cost, a price that is neither given nor known is an error.
	Price *expert.Price

	// Secrets are values by name that must not be seen: what tools and providers say is
	// recorded, yielded and shown to the model without them. The key of the model
	// belongs here. Values of fewer than 8 characters are too short to be told from
	// ordinary text, and are not hidden.
	Secrets map[string]string

	// Env are the values of the variables that skills require (requiredEnv). Each skill
	// gets those that it names and no other. Values that look like keys are hidden like
	// Secrets.
	Env map[string]string
	// Lock is what was installed ([lockfile.ReadFile]). With it, skills start when they are
	// first used, and a server that offers anything else than it did ends the run.
	Lock *lockfile.Lock
	// CacheDir is where the npm packages of skills are kept. Without it, skills that are
	// packages cannot be started.
	CacheDir string

	Protected []string      // paths that the file tools may not reach
	Environ   []string      // commands and skills get the harmless part of it
	Source    engine.Source // default: the system's clock and random ids
	Log       *slog.Logger  // default: nothing is logged
}

// Run runs an Expert and yields its events in their full form, each after it was
// recorded. How the run ended is told by its last events; an error means that it could
// not start, or that its end could not be recorded. Breaking out of the loop stops the
// run and saves it.
func Run(ctx context.Context, opts Options) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		team, err := opts.complete()
		if err != nil {
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
			MaxWorkspaceBytes: opts.MaxWorkspaceBytes, Redact: opts.redact(),
			Lock: opts.Lock, Env: func(name string) string { return opts.Env[name] }, CacheDir: opts.CacheDir,
		}
		_, err = runtime.Run(ctx, engine.Job{
			ID:     opts.JobID,
			Expert: opts.Expert,
			Input: engine.Input{
				Query: opts.Query, Continue: opts.Continue, From: opts.From, Answer: opts.Answer,
			},
			Lookup: team.Lookup,

			Limits:      opts.limits(),
			MaxDepth:    opts.MaxDepth,
			MaxParallel: opts.MaxParallel,
			MaxRetries:  max(opts.MaxRetries, 0),
			Timeout:     max(opts.Timeout, 0),
			Reasoning:   opts.Reasoning,
			MaxOutput:   opts.MaxOutput,
			Price:       opts.price(team),

			Experts:       keys(team),
			Provider:      opts.Provider,
			ModelName:     opts.ModelName,
			ContextWindow: opts.ContextWindow,
			Version:       version.String(),
		}, engine.Listener{Emit: emit, Full: true})
		if err != nil && !stopped {
			yield(event.Event{}, err)
		}
	}
}
