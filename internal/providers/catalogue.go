package providers

import (
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// Catalogue is what resolving the settings of a job has to know of providers; see
// job.Catalogue.
type Catalogue struct{}

// Known reports whether there is such a provider.
func (Catalogue) Known(provider string) bool { return slices.Contains(model.Providers(), provider) }

// DefaultModel returns the model that is used when none is named; "" if there is none.
func (Catalogue) DefaultModel(provider string) string { return model.DefaultModel(provider) }

// DefaultTimeout returns the time limit of one generation if it is not the usual one.
func (Catalogue) DefaultTimeout(provider string) time.Duration {
	return model.ProviderNamed(provider).Timeout
}

// Fits reports whether a provider can have a model, as far as the model's name tells.
func (Catalogue) Fits(provider, name string) bool {
	if table[provider].owns == nil {
		return true
	}
	all := owners(name)
	return len(all) == 0 || slices.Contains(all, provider)
}

// Choice returns the model of an Expert's Runs in a job with these settings.
func Choice(settings job.Settings, e *expert.Expert) job.ModelChoice {
	spec := job.Spec{Settings: settings}
	spec.Complete(Catalogue{})
	return spec.ModelOf(e)
}
