package perstack

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store/memory"
)

// complete checks what is required and fills in the rest. It returns all Experts at hand,
// Expert first.
func (o *Options) complete() (team *manifest.Config, err error) {
	switch {
	case o.Expert == nil:
		return nil, errors.New("perstack: Options.Expert is nil; take it from manifest.Load")
	case o.Model == nil:
		return nil, errors.New("perstack: Options.Model is nil; make one with a package below model")
	case o.Workspace == "":
		return nil, errors.New("perstack: Options.Workspace is empty; name a directory")
	case o.Query == "" && !o.Continue:
		return nil, errors.New("perstack: Options.Query is empty; say what the Expert shall do")
	}
	if team, err = o.team(); err != nil {
		return nil, err
	}
	if err := o.checkLimits(team); err != nil {
		return nil, err
	}
	known, _ := model.Lookup(o.Provider, o.ModelName)
	known = known.With(o.Models[o.ModelName])
	o.MaxOutput = cmp.Or(o.MaxOutput, known.MaxOutputTokens)
	o.ContextWindow = cmp.Or(o.ContextWindow, known.ContextWindow)
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
	return team, nil
}

// team puts the Experts together, as if one file had them. Whoever could be asked must be
// there: a model that is offered a tool which never works would waste the user's money.
func (o *Options) team() (*manifest.Config, error) {
	team := &manifest.Config{Experts: []*expert.Expert{o.Expert}}
	for i, e := range o.Experts {
		switch {
		case e == nil:
			return nil, fmt.Errorf("perstack: Options.Experts[%d] is nil; leave it out", i)
		case slices.Contains(team.Experts, e):
			continue
		}
		if _, taken := team.Lookup(e.Name); taken {
			return nil, fmt.Errorf("perstack: Options.Experts has two Experts named %q; each needs a name of its own", e.Name)
		}
		team.Experts = append(team.Experts, e)
	}
	if _, missing := team.Closure(o.Expert); len(missing) > 0 {
		return nil, fmt.Errorf("perstack: the delegate %q is not in Options.Experts; add it, for example with all Experts of its file", missing[0])
	}
	return team, nil
}

func keys(team *manifest.Config) (all []string) {
	for _, e := range team.Experts {
		all = append(all, e.Key)
	}
	return all
}

func (o *Options) limits() expert.Limits {
	return expert.Limits{MaxSteps: o.MaxSteps, MaxTokens: o.MaxTokens, MaxCost: o.MaxCost, MaxDuration: o.MaxDuration}
}

// checkLimits refuses limits that could not be kept: they would be worse than none.
func (o *Options) checkLimits(team *manifest.Config) error {
	for _, limit := range []struct {
		name string
		ok   bool
	}{
		{"MaxSteps", o.MaxSteps >= 0},
		{"MaxTokens", o.MaxTokens >= 0},
		{"MaxCost", o.MaxCost >= 0 && o.MaxCost <= math.MaxFloat64}, // neither NaN nor infinite
		{"MaxDuration", o.MaxDuration >= 0},
		{"MaxDepth", o.MaxDepth >= 0},
		{"MaxParallel", o.MaxParallel >= 0},
	} {
		if !limit.ok {
			return fmt.Errorf("perstack: Options.%s is not a limit; give a positive number, or leave it out", limit.name)
		}
	}
	if !o.costLimited(team) {
		return nil
	}
	if _, known := o.priceOf(o.Provider, o.ModelName); !known {
		return fmt.Errorf("perstack: the cost is limited, but what the model %q costs is not known; set Options.Price", o.ModelName)
	}
	return nil
}

// costLimited reports whether the cost of the job, or of an Expert that may take part in
// it, is limited.
func (o *Options) costLimited(team *manifest.Config) bool {
	experts, _ := team.Closure(o.Expert)
	return o.MaxCost > 0 || slices.ContainsFunc(experts, func(e *expert.Expert) bool { return e.MaxCost > 0 })
}

// price is what the engine reckons with; nil if the cost does not matter.
func (o *Options) price(team *manifest.Config) func(provider, modelName string) (expert.Price, bool) {
	if !o.costLimited(team) {
		return nil
	}
	return o.priceOf
}

func (o *Options) priceOf(provider, modelName string) (expert.Price, bool) {
	if o.Price != nil {
		return *o.Price, true
	}
	return model.PriceOf(provider, modelName)
}

func (o *Options) redact() func(string) string {
	set := new(secret.Set)
	for name, value := range o.Secrets {
		set.Add(name, value)
	}
	for name, value := range o.Env {
		set.AddIfRandom(name, value)
	}
	return set.Redact
}
