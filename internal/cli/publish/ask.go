package publish

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/review"
	"github.com/perstack-go/perstack/internal/terminal"
)

// ask asks the registry whether it would accept the Expert, and adds what it knows: what the delegates can
// do, and what is new since the version before.
func (o *Options) ask(ctx context.Context, r *published.Registry, p *proposal) error {
	told, err := r.Client.ValidateOnly(ctx, o.request(p))
	if isUnsent(err) {
		return r.Explain(err)
	}
	if err := o.checkDelegates(ctx, r, p); err != nil {
		return err
	}
	if err != nil {
		return o.explainRefusal(ctx, r, p, err)
	}
	closure, err := delegates(ctx, r, p)
	if err != nil {
		return r.Explain(err)
	}
	before, err := latest(ctx, r, p)
	if err != nil {
		return r.Explain(err)
	}
	p.card = card.Of(append([]*definition.Definition{p.definition}, closure...))
	for _, a := range append(review.Advise(p.definition, before), told...) {
		if !slices.Contains(p.advisories, a) {
			p.advisories = append(p.advisories, a)
		}
	}
	return nil
}

// isUnsent reports whether an error says nothing about the Expert: the registry was not asked, or gave no
// answer.
func isUnsent(err error) bool {
	switch client.KindOf(err) {
	case client.Configuration, client.Unauthorized, client.Network, client.Timeout, client.Cancelled, client.RateLimited, client.Unverified, client.WrongAnswer, client.Storage:
		return true
	}
	return false
}

// checkDelegates refuses an Expert that delegates to others of the same file which are not published.
func (o *Options) checkDelegates(ctx context.Context, r *published.Registry, p *proposal) error {
	var missing []string
	for _, e := range p.local {
		found, err := r.Package(ctx, e.Name)
		if err != nil && client.KindOf(err) != client.NotFound {
			return r.Explain(err)
		}
		at := -1
		if err == nil {
			at = slices.IndexFunc(found.Versions, func(v api.Version) bool { return v.Version == e.Version })
		}
		if at < 0 {
			missing = append(missing, e.Name)
			continue
		}
		d, err := definition.FromExpert(e)
		if err != nil || definition.Digest(d.Encode()) != found.Versions[at].Digest {
			p.advisories = append(p.advisories, fmt.Sprintf("%s@%s in the registry is not what your file has: raise its version and publish it first, if users should get yours", e.Name, e.Version))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return host.Usagef("%s delegates to Experts of perstack.toml that are not published; publish them first, in this order:\n%s",
		p.definition.Name, o.commands(append(missing, p.definition.Name)))
}

// commands are the commands that publish Experts, one on each line.
func (o *Options) commands(names []string) string {
	var lines []string
	for _, name := range names {
		words := []string{"publish", name}
		if o.Flags.Config != "" {
			words = append(words, "--config", o.Flags.Config)
		}
		lines = append(lines, "  "+o.Host.Command+" "+terminal.ShellJoin(words...))
	}
	return strings.Join(lines, "\n")
}

// explainRefusal says where in the file the reason of a refusal is, if that is known.
func (o *Options) explainRefusal(ctx context.Context, r *published.Registry, p *proposal, refused error) error {
	d := p.definition
	if found, err := r.Client.Package(ctx, d.Name); err == nil {
		for _, v := range found.Versions {
			if v.Version != d.Version {
				continue
			}
			message := d.Key() + " is already published, with other content"
			switch {
			case v.Status == api.Unpublished:
				message = d.Key() + " was published and removed, and its number cannot be used again"
			case v.Digest == p.digest:
				message = d.Key() + " is already published, with the same content"
			}
			problem := p.config.Problem(pathOf(p.expert, "version"), message, "raise the version")
			return &host.ExitError{Code: host.ExitFailure, Err: fmt.Errorf("%s", problem)}
		}
	}
	return r.Explain(refused)
}

// delegates are the definitions of everything that the Expert delegates to, verified.
func delegates(ctx context.Context, r *published.Registry, p *proposal) (all []*definition.Definition, err error) {
	if len(p.definition.Delegates) == 0 {
		return nil, nil
	}
	found, err := r.Client.Resolve(ctx, p.definition.Delegates...)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(found.Experts)) {
		all = append(all, found.Experts[key].Definition)
	}
	return all, nil
}

// latest is the version that users get now; nil if there is none that they can get.
func latest(ctx context.Context, r *published.Registry, p *proposal) (*definition.Definition, error) {
	found, err := r.Client.Resolve(ctx, p.definition.Name)
	switch client.KindOf(err) {
	case "":
	case client.NotFound, client.Refused, client.Policy:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if e := found.Experts[found.Keys[p.definition.Name]]; e != nil {
		return e.Definition, nil
	}
	return nil, nil
}
