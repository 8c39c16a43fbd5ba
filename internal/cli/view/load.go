package view

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/scopes"
)

// A session asks registries.
type session struct {
	host       *host.Host
	registries *host.Registries
	named      string
}

func open(ctx context.Context, opts *Options) (*session, error) {
	r, err := opts.Host.ReadRegistries(ctx, opts.Config)
	if err != nil {
		return nil, err
	}
	return &session{opts.Host, r, opts.Registry}, nil
}

// A shown is one version of an Expert, for programs.
type shown struct {
	Key         string         `json:"key"` // exact
	Registry    string         `json:"registry"`
	Verified    bool           `json:"verified"` // by the log of the registry
	Digest      string         `json:"digest"`
	LogIndex    int64          `json:"logIndex"` // of its entry in the log
	LogSize     int64          `json:"logSize,omitzero"`
	PublishedAt time.Time      `json:"publishedAt,omitzero"`
	Signer      string         `json:"signer,omitzero"`
	Card        card.Card      `json:"card"`
	CardHash    string         `json:"cardHash"`
	Delegates   []delegate     `json:"delegates"`
	Definition  jsontext.Value `json:"definition"`
	Said        said           `json:"unproved"` // what only the registry says
	definition  *definition.Definition
	whole       bool // show the instruction, too
	decision    scopes.Decision
	client      *client.Client
}

// A delegate is what one meant when the Expert was published.
type delegate struct {
	Key    string `json:"key"`
	Exact  string `json:"exact"`
	Digest string `json:"digest"`
}

// What only the registry says.
type said struct {
	Status        string            `json:"status"`
	StatusMessage string            `json:"statusMessage,omitzero"`
	ReplacedBy    string            `json:"replacedBy,omitzero"`
	Owner         string            `json:"owner,omitzero"`
	Publisher     string            `json:"publisher,omitzero"`
	Visibility    string            `json:"visibility,omitzero"`
	Latest        string            `json:"latest,omitzero"`
	MovedTo       string            `json:"movedTo,omitzero"`
	Tags          map[string]string `json:"tags,omitempty"`
	Advisories    []string          `json:"advisories,omitempty"`
	Dependents    []string          `json:"dependents,omitempty"`
	Versions      []api.Version     `json:"versions,omitempty"`
}

// version resolves a key, which verifies everything that is shown of the content.
func (s *session) version(ctx context.Context, key string) (*shown, error) {
	d, err := s.decide(key)
	if err != nil {
		return nil, err
	}
	c, err := s.registries.WithKey(d, "")
	if err != nil {
		return nil, s.host.RegistryError(d, err)
	}
	s.host.Asking(d)
	found, err := c.Resolve(ctx, key)
	if err != nil {
		return nil, s.host.RegistryError(d, err)
	}
	e := found.Experts[found.Keys[key]]
	closure := closureOf(found, e)
	v := &shown{
		Key: e.Key, Registry: c.URL(), Verified: !e.Unverified, Digest: e.Digest, LogIndex: e.Index, LogSize: found.Size, PublishedAt: e.PublishedAt, Signer: e.Signer,
		Card: card.Of(closure), Delegates: []delegate{}, Definition: jsontext.Value(e.Content),
		Said:       said{Status: e.Status, StatusMessage: e.Message, ReplacedBy: e.ReplacedBy},
		definition: e.Definition, decision: d, client: c,
	}
	v.CardHash = v.Card.Hash()
	for _, one := range e.Delegates {
		v.Delegates = append(v.Delegates, delegate(one))
	}
	return v, nil
}

// decide returns the registry of an Expert.
func (s *session) decide(key string) (scopes.Decision, error) {
	if s.named != "" {
		return s.registries.ChooseRegistry(s.named)
	}
	return s.registries.RegistryOf(key)
}

// closureOf is the Expert with everything that it can reach, each once, in the order of the delegates.
func closureOf(found *client.Resolution, first *client.Expert) (all []*definition.Definition) {
	seen := map[string]bool{first.Key: true}
	for queue := []*client.Expert{first}; len(queue) > 0; queue = queue[1:] {
		all = append(all, queue[0].Definition)
		for _, d := range queue[0].Delegates {
			if next := found.Experts[d.Exact]; next != nil && !seen[d.Exact] {
				seen[d.Exact] = true
				queue = append(queue, next)
			}
		}
	}
	return all
}

// addPackage adds what the registry says about the Expert and its versions. A registry without a log does
// not say it.
func (s *session) addPackage(ctx context.Context, v *shown) error {
	p, err := v.client.Package(ctx, v.definition.Name)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Kind == client.Refused && e.Status == 0 && !v.Verified {
		return nil
	}
	if err != nil {
		return s.host.RegistryError(v.decision, err)
	}
	v.Said.Owner, v.Said.Visibility, v.Said.Latest, v.Said.MovedTo = p.Owner.Name, p.Visibility, p.Latest, p.MovedTo
	v.Said.Tags, v.Said.Dependents, v.Said.Versions = p.Tags, p.Dependents, p.Versions
	at := slices.IndexFunc(p.Versions, func(one api.Version) bool { return one.Version == v.definition.Version })
	if at >= 0 {
		v.Said.Publisher, v.Said.Advisories = p.Versions[at].PublishedBy, p.Versions[at].Advisories
	}
	return nil
}
