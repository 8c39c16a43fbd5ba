package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A registryCheck says whether the registry was asked.
type registryCheck struct {
	Done   bool   `json:"done"`
	Reason string `json:"reason,omitzero"` // why not
}

// try does everything but publish.
func (o *Options) try(ctx context.Context, s *published.Session, p *proposal) error {
	r, err := s.Registry(ctx, p.definition.Name)
	if err != nil {
		return err
	}
	check := registryCheck{Done: true}
	if err := o.ask(ctx, r, p); err != nil {
		if !isUnreachable(err) {
			return err
		}
		check = registryCheck{Reason: host.Describe(err)}
	}
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			DryRun        bool           `json:"dryRun"`
			Key           string         `json:"key"`
			Registry      string         `json:"registry"`
			Digest        string         `json:"digest"`
			RegistryCheck registryCheck  `json:"registryCheck"`
			Abilities     []card.Ability `json:"abilities"`
			Advisories    []string       `json:"advisories"`
			Definition    jsontext.Value `json:"definition"`
		}{true, p.definition.Key(), r.Client.URL(), p.digest, check, p.card.Abilities, p.advisories, p.text})
	}
	if err := o.show(p, r.Client.URL()); err != nil {
		return err
	}
	result := "The registry would accept it."
	if !check.Done {
		result = "The checks on this machine passed. The registry was not asked: " + terminal.CleanLine(check.Reason)
		if len(p.local) > 0 {
			var names []string
			for _, e := range append(p.local, p.expert) {
				names = append(names, e.Name)
			}
			result += "\nPublish its delegates first, in this order:\n" + o.commands(names)
		}
	}
	if _, err := fmt.Fprintln(o.Host.Stderr, result); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(o.Host.Stdout, "Dry run - would publish:"); err != nil {
		return err
	}
	return host.WriteJSON(o.Host.Stdout, jsontext.Value(p.text))
}

// isUnreachable reports whether the registry could not be asked: there is no key, or no network.
func isUnreachable(err error) bool {
	switch client.KindOf(err) {
	case client.Network, client.Timeout, client.RateLimited:
		return true
	case client.Unauthorized:
		return isKeyMissing(err)
	}
	return false
}

// isKeyMissing reports whether there is no key. A key that is not accepted is another matter.
func isKeyMissing(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Kind == client.Unauthorized && e.Status == 0
}
