package publish

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/oci"
	"github.com/perstack-go/perstack/internal/terminal"
)

// checkTo refuses what cannot be published to a container registry, before anything is read.
func (o *Options) checkTo() error {
	if o.To == "" {
		return nil
	}
	if !expert.IsOCI(o.To) {
		return host.Usagef("--to takes a reference such as oci://registry.example/acme/researcher, not %q", o.To)
	}
	ref, err := expert.ParseOCI(o.To)
	switch {
	case err != nil:
		return host.Usagef("--to: %w", err)
	case ref.Digest != "":
		return host.Usagef("--to: a digest is the result of publishing; leave it out")
	case o.Private:
		return host.Usagef("--private is for registries with a log; a container registry has rules of its own")
	case len(o.Tags) > 0:
		return host.Usagef("--tag is for registries with a log; write the tag into the reference: %s:%s", ref.Name(), o.Tags[0])
	}
	return nil
}

// toContainers publishes to a container registry.
func (o *Options) toContainers(ctx context.Context, s *published.Session, p *proposal) error {
	source, err := s.Containers()
	if err != nil {
		return err
	}
	checked, err := o.pin(ctx, source, p)
	if err != nil {
		return o.explainContainers(err)
	}
	if err := o.show(p, checked.Ref.Name()+":"+checked.Ref.Tag); err != nil {
		return err
	}
	if o.DryRun {
		return o.tried(p, checked)
	}
	if o.Host.CanConfirm() && !o.Host.Yes && !checked.Existed {
		yes, err := o.Host.Confirm(ctx, "perstack: publish %s to %s?", p.definition.Key(), terminal.CleanLine(o.To))
		if err != nil {
			return err
		}
		if !yes {
			_, err := fmt.Fprintln(o.Host.Stdout, "Cancelled")
			return err
		}
	}
	done, err := source.Push(ctx, o.To, p.definition, p.signature)
	if err != nil {
		return o.explainContainers(err)
	}
	return o.pushed(p, done)
}

// pin resolves the delegates, signs what came out, and asks the registry what it has.
func (o *Options) pin(ctx context.Context, source *oci.Source, p *proposal) (*oci.Pushed, error) {
	d, err := source.Pin(ctx, o.To, p.definition)
	if err != nil {
		return nil, err
	}
	p.definition, p.text = d, d.Encode()
	p.digest = definition.Digest(p.text)
	all := []*definition.Definition{d}
	if len(d.Delegates) > 0 {
		found, err := source.Resolve(ctx, d.Delegates...) // from the store
		if err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(found.Experts)) {
			all = append(all, found.Experts[key].Definition)
		}
	}
	p.card = card.Of(all)
	if err := o.sign(ctx, p); err != nil {
		return nil, err
	}
	return source.Check(ctx, o.To, d, p.signature)
}

// explainContainers gives an error its exit code and what the user can do.
func (o *Options) explainContainers(err error) error {
	switch client.KindOf(err) {
	case client.Unauthorized:
		return host.Usagef("%w with %s login", err, o.Host.Command) // the error says where
	case client.Configuration, client.NotFound, client.Policy:
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return err
}

// tried prints the result of a dry run.
func (o *Options) tried(p *proposal, checked *oci.Pushed) error {
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			DryRun     bool           `json:"dryRun"`
			Key        string         `json:"key"`
			Reference  string         `json:"reference"`
			Digest     string         `json:"digest"`
			Existed    bool           `json:"existed"`
			Abilities  []card.Ability `json:"abilities"`
			Advisories []string       `json:"advisories"`
			Definition jsontext.Value `json:"definition"`
		}{true, p.definition.Key(), checked.Ref.String(), p.digest, checked.Existed, p.card.Abilities, p.advisories, p.text})
	}
	result := "The tag is free, or can move. Whether your login can write is not known before it does."
	if checked.Existed {
		result = "It is published there already."
	}
	if _, err := fmt.Fprintln(o.Host.Stderr, result); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(o.Host.Stdout, "Dry run - would publish:"); err != nil {
		return err
	}
	return host.WriteJSON(o.Host.Stdout, jsontext.Value(p.text))
}

// pushed prints what others need to know.
func (o *Options) pushed(p *proposal, done *oci.Pushed) error {
	command := o.Host.Command + " run " + terminal.ShellJoin(done.Ref.String()) + ` "…"`
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Key        string   `json:"key"`
			Reference  string   `json:"reference"`
			Digest     string   `json:"digest"`
			Existed    bool     `json:"existed"`
			Signer     string   `json:"signer,omitzero"`
			Advisories []string `json:"advisories"`
			Command    string   `json:"command"`
		}{p.definition.Key(), done.Ref.String(), done.Digest, done.Existed, done.Signer, p.advisories, command})
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Published %s\n  Reference: %s\n  Digest: %s\n", p.definition.Key(), done.Ref, done.Digest)
	if done.Existed {
		text.WriteString("  It was there before, and is the same.\n")
	}
	if done.Signer != "" {
		fmt.Fprintf(&text, "  Signed by: %s\n", done.Signer)
	}
	fmt.Fprintf(&text, "  Run it: %s\n", command)
	_, err := fmt.Fprint(o.Host.Plain(o.Host.Stdout), text.String())
	return err
}
