package job

import (
	"reflect"

	"github.com/perstack-go/perstack/expert"
)

// A ModelChoice is a model, the provider that runs it, and the settings of that provider.
type ModelChoice struct {
	Provider, Model string
	Setting         expert.Setting
}

// ModelOf returns the model of an Expert's Runs: its own, or that of the job. A model without
// a provider is one of the job's provider.
func (s *Spec) ModelOf(e *expert.Expert) ModelChoice {
	choice := ModelChoice{s.Provider, s.Model, s.Setting}
	if p := e.Provider; p != nil {
		choice = ModelChoice{Provider: p.Name, Setting: p.Setting}
	}
	if e.Model != "" {
		choice.Model = e.Model
	}
	return choice
}

// SetDefaultTimeout sets the time limit of a generation to the longest default of the
// providers in use.
func (s *Spec) SetDefaultTimeout(known Catalogue) {
	for _, use := range s.ModelUses() {
		s.Limits.Timeout = max(s.Limits.Timeout, known.DefaultTimeout(use.Provider))
	}
}

// A ModelUse is a model and the Experts that use it.
type ModelUse struct {
	ModelChoice
	Experts []*expert.Expert
}

// ModelUses lists the models of a job, in the order of its Experts; that of the job if there
// are none.
func (s *Spec) ModelUses() (all []ModelUse) {
next:
	for _, e := range s.Experts {
		choice := s.ModelOf(e)
		for i := range all {
			if reflect.DeepEqual(all[i].ModelChoice, choice) {
				all[i].Experts = append(all[i].Experts, e)
				continue next
			}
		}
		all = append(all, ModelUse{choice, []*expert.Expert{e}})
	}
	if all == nil {
		all = []ModelUse{{ModelChoice: s.ModelOf(&expert.Expert{})}}
	}
	return all
}
