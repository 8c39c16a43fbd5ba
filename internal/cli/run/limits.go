package run

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
)

// jobLimits are those of the whole job: each as its flag says, else as the file does, else
// as the job was recorded. Whoever limited a job and goes on with it means the limit still.
// A journal may come from a stranger: it is asked last, so it raises nothing that the user
// has said.
func jobLimits(flags, file, recorded expert.Limits) expert.Limits {
	return expert.Limits{
		MaxSteps:    cmp.Or(flags.MaxSteps, file.MaxSteps, recorded.MaxSteps, expert.DefaultMaxSteps),
		MaxTokens:   cmp.Or(flags.MaxTokens, file.MaxTokens, recorded.MaxTokens),
		MaxCost:     cmp.Or(flags.MaxCost, file.MaxCost, recorded.MaxCost),
		MaxDuration: cmp.Or(flags.MaxDuration, file.MaxDuration, recorded.MaxDuration),
	}
}

// recordedLimits are those that a job was started with, within what a flag could say. What
// no flag could have said counts as nothing.
func recordedLimits(j event.Job) expert.Limits {
	return expert.Limits{
		MaxSteps:    within(j.MaxSteps, math.MaxInt32),
		MaxTokens:   within(j.MaxTokens, expert.MostTokens),
		MaxCost:     within(j.MaxCost, expert.MostCost),
		MaxDuration: time.Duration(within(j.MaxDuration, expert.MostDuration.Milliseconds())) * time.Millisecond,
	}
}

func within[N int | int64 | float64](n, most N) N {
	if n > 0 { // written so that NaN does not pass
		return min(n, most)
	}
	return 0
}

// remember takes over what the job was limited to before, who thought for it, and where.
func (s *setup) remember(j event.Job, by author) error {
	s.recorded = recordedLimits(j)
	s.limits = jobLimits(s.opts.Limits, s.config.Limits, s.recorded)
	s.chooseRuntime(by)
	if err := s.chooseModel(by); err != nil {
		return err
	}
	return s.keepWalls(by)
}

// price returns what models cost, for a job that may cost so much and no more; nil for
// one whose cost is not limited. A limit that cannot be kept would be worse than none, so
// an unknown price is an error.
func (s *setup) price(e *expert.Expert) (func(provider, model string) (expert.Price, bool), error) {
	limited, by := s.costLimited(e)
	if !limited {
		return nil, nil
	}
	if _, known := s.priceOf(s.provider, s.modelName); !known {
		return nil, host.Usagef("%s limits the cost, but what the model %q costs is not known; write it into %s, in US dollars for a million tokens, like:\n"+
			"[prices.%q]\ninput = 3.00\noutput = 15.00", by, s.modelName, terminal.CleanLine(s.config.Path), s.modelName)
	}
	if p, ours := s.config.Prices[s.modelName]; ours {
		if list, known := model.PriceOf(s.provider, s.modelName); known && list != p {
			// Whoever wrote the file decides by it how much a limit on cost lets through.
			fmt.Fprintf(s.opts.Host.Stderr, "perstack: cost is counted by the prices of %s, not by the list prices of %s\n", terminal.CleanLine(s.config.Path), s.modelName)
		}
	}
	return s.priceOf, nil
}

// costLimited reports whether the cost of the job, or of an Expert that may take part in
// it, is limited, and where it says so.
func (s *setup) costLimited(e *expert.Expert) (limited bool, by string) {
	switch {
	case s.opts.Limits.MaxCost > 0:
		return true, "--max-cost"
	case s.config.MaxCost > 0:
		return true, "maxCost"
	case s.recorded.MaxCost > 0:
		return true, "--max-cost of the run before"
	}
	experts, _ := s.config.Closure(e)
	for _, e := range experts {
		if e.MaxCost > 0 {
			return true, "maxCost of expert " + e.Key
		}
	}
	return false, ""
}

// priceOf returns what a model costs: as the file says, else as we know.
func (s *setup) priceOf(provider, name string) (expert.Price, bool) {
	if p, ok := s.config.Prices[name]; ok {
		return p, true
	}
	return model.PriceOf(provider, name)
}
