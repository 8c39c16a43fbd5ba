package run

import (
	"context"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/client"
)

// fetch finds the published Experts that the run needs. A continued job has those that it began with.
// Nothing is opened for a run that needs none.
func (p *project) fetch(ctx context.Context, o *Options, t *target) (err error) {
	if p.absent != nil && o.continues() && len(t.recorded.Published) == 0 {
		return p.absent // the Experts of the job were in a file
	}
	p.published, err = o.Host.Fetch(ctx, host.Fetch{
		Config: p.config, Workspace: o.workspace(), Keys: p.config.Missing(t.expertKey), Lock: p.lock, Recorded: t.recorded.Published, Named: o.Expert,
	})
	if err != nil && o.asJSON && client.KindOf(err) != "" {
		return host.FailJSON(o.Host.Stdout, err)
	}
	if err != nil {
		return err
	}
	if p.absent != nil && !o.continues() {
		p.chooseProvider(o)
	}
	// A lockfile says nothing about an Expert that the user named and that is not installed.
	if e, ok := p.config.Lookup(t.expertKey); ok && p.config.IsPublished(e) && p.lockErr == nil {
		if _, locked := p.lock.Expert(e.Key); !locked {
			p.lock = nil
		}
	}
	return nil
}

// chooseProvider takes the first provider that the environment has a key for, since no file names one.
func (p *project) chooseProvider(o *Options) {
	if o.Flags.Provider != "" {
		return
	}
	name, variable := o.Host.ProviderByKey()
	if name == "" {
		return // the error about the missing key says what to set
	}
	p.config.Settings.Provider = name
	o.Host.Say("the provider is %s, because %s is set; --provider names another", name, variable)
}
