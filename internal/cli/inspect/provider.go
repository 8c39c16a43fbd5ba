package inspect

import (
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/model"
)

// provider puts together who is asked, and where.
func (b *builder) provider() Provider {
	name := b.settings.Provider
	setting := b.config.Provider.Setting
	p := Provider{
		Name: name, Model: b.settings.Model, BaseURL: address(setting.BaseURL),
		Headers: list(slices.Sorted(maps.Keys(setting.Headers))),
		Keys:    b.variables(model.KeyEnv(name)),

		ExtraBody: slices.Sorted(maps.Keys(setting.ExtraBody)),
		Resource:  setting.ResourceName,
		Project:   setting.Project,
		Region:    setting.Region,
		Location:  setting.Location,
		Safety:    setting.SafetySettings,

		MayBePrivate: setting.AllowPrivateEndpoint,
	}
	if setting.Guardrail != nil {
		p.Guardrail = setting.Guardrail.Identifier
	}
	b.findDestination(p)
	if len(p.ExtraBody) > 0 {
		b.find(Finding{Severity: note, Message: "the file adds to every request: " + strings.Join(p.ExtraBody, ", ")})
	}
	return p
}

// findDestination looks at where the file sends what the Experts see. A base URL goes
// before a resource.
func (b *builder) findDestination(p Provider) {
	switch {
	case p.BaseURL != "":
		b.warn("what the Experts see and the key go to "+p.BaseURL+", as the file says", "")
	case p.Resource != "":
		b.warn("what the Experts see and the key go to "+p.Resource+".openai.azure.com, as the file says", "")
	}
	if p.Project != "" && p.Name == "google-vertex" {
		b.warn("what the Experts see goes to the Google Cloud project "+p.Project+", as the file says", "")
	}
}

// findRefused says what keeps a run from starting with any key.
func (b *builder) findRefused(e *expert.Expert) {
	p := b.card.Provider
	for _, refused := range providers.Check(providers.Config{
		Provider: p.Name, Model: p.Model,
		Setting: b.config.Provider.Setting, Entry: b.config.Models[p.Model],
		Env: b.env.Get, EnvFile: b.env.File,
		Expert: e, OwnTools: true,
	}) {
		f := Finding{Severity: warning, Message: "no run will start: " + refused.Err.Error()}
		if refused.OfExpert() {
			f.Expert = e.Key
		}
		b.find(f)
	}
}

// models is what the file says of models.
func models(c *manifest.Config) (all []Model) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		all = append(all, Model{name, c.Models[name]})
	}
	return all
}
