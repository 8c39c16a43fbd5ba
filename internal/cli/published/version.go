package published

import (
	"context"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// ExactKey reads a key that must have a version. A name alone would mean another version tomorrow.
func ExactKey(text string) (expert.Key, error) {
	key, err := expert.ParseKey(text)
	switch {
	case err != nil:
		return key, host.Usagef("%w", err)
	case !expert.ValidName(key.Name):
		return key, host.Usagef("%q is not the name of a published Expert; neither scopes nor names have dots", key.Name)
	case !definition.IsVersion(key.Version):
		return key, host.Usagef("%s names no version; write the exact one, like %s@1.0.0", text, key.Name)
	}
	return key, nil
}

// Package returns an Expert with its versions, without those that were unpublished.
func (r *Registry) Package(ctx context.Context, name string) (*api.Package, error) {
	p, err := r.Client.Package(ctx, name)
	if err != nil {
		return nil, err
	}
	p.Versions = slices.DeleteFunc(p.Versions, func(v api.Version) bool {
		return v.Status == api.Unpublished || !definition.IsVersion(v.Version) // nothing else can be published
	})
	return p, nil
}

// Version returns a version by its exact key. The error says which ones there are.
func (r *Registry) Version(ctx context.Context, key expert.Key) (*api.Version, error) {
	p, err := r.Package(ctx, key.Name)
	if client.KindOf(err) == client.NotFound {
		return nil, host.Usagef("%s is not in the registry %s", key.Name, r.Client.URL())
	}
	if err != nil {
		return nil, r.Explain(err)
	}
	var versions []string
	for i, v := range p.Versions {
		if v.Version == key.Version {
			return &p.Versions[i], nil
		}
		versions = append(versions, terminal.CleanLine(v.Version))
	}
	if len(versions) == 0 {
		return nil, host.Usagef("no version of %s is in the registry %s", key.Name, r.Client.URL())
	}
	const most = 10
	more := ""
	if len(versions) > most {
		versions, more = versions[:most], " and others"
	}
	return nil, host.Usagef("%s has no version %s; it has %s%s", key.Name, key.Version, strings.Join(versions, ", "), more)
}

// CustomTags are the tags that the publisher sets: all but latest, which the registry sets.
func CustomTags(v *api.Version) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(v.Tags)), func(tag string) bool { return tag == Latest })
}

// Latest is the tag that the registry sets.
const Latest = "latest"

// CheckTags returns what is wrong with the tags that a version is to have.
func CheckTags(tags []string) error {
	if len(tags) > api.MaxTags {
		return host.Usagef("a version has %d tags at most, and these are %d", api.MaxTags, len(tags))
	}
	for _, tag := range tags {
		switch {
		case tag == Latest:
			return host.Usagef("the tag latest is set by the registry, and cannot be set or removed; leave it out")
		case !expert.ValidTag(tag):
			return host.Usagef("%s is not a tag; use lower-case letters, digits, - and _, and begin with a letter or a digit", wording.Quote(tag))
		}
	}
	return nil
}
