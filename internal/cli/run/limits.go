package run

import (
	"cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
)

// jobLimits are those of the whole job: each as its flag says, else as the file does.
func jobLimits(flags, file expert.Limits) expert.Limits {
	return expert.Limits{
		MaxSteps:    cmp.Or(flags.MaxSteps, file.MaxSteps, expert.DefaultMaxSteps),
		MaxTokens:   cmp.Or(flags.MaxTokens, file.MaxTokens),
		MaxCost:     cmp.Or(flags.MaxCost, file.MaxCost),
		MaxDuration: cmp.Or(flags.MaxDuration, file.MaxDuration),
	}
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
