// Package resolve turns keys of published Experts into Experts that can run: over everything that they
// delegate to, each once, and the same ones the next time.
//
// A [Pin] says what a key meant. What is pinned and was verified on this machine needs no request. The
// rest is one request to each registry. Which registry that is, package scopes decides; that its answer is
// true, package client checks. This package checks what neither can know: that every Expert of an answer
// comes from the registry that its own name leads to, that a pin is kept, and that nothing runs that is
// disabled, or newer than the user wants.
//
// It asks nothing and prints nothing. Start reading at [Resolver.Resolve]; file.go keeps the pins of a
// project.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/scopes"
)

// A Source has the Experts of one registry. A [client.Client] is one; package oci has those of container
// registries.
type Source interface {
	Resolve(ctx context.Context, keys ...string) (*client.Resolution, error)
	Offline(ctx context.Context, pins ...client.Pin) (*client.Resolution, error)
}

// A Pin is what a key meant when it was resolved.
type Pin struct {
	Exact    string `json:"exact"`
	Digest   string `json:"digest"`
	Registry string `json:"registry"`
	Index    int64  `json:"index"`           // of its leaf
	Signer   string `json:"signer,omitzero"` // fingerprint; empty if there is no signature
	Card     string `json:"card"`            // hash of what it can do
}

// fits reports whether a pin can be one of a key.
func (p Pin) fits(key string) bool {
	want, err := expert.ParseReference(key)
	got, gotErr := expert.ParseReference(p.Exact)
	exact := definition.IsVersion(got.Version) || expert.IsOCI(got.Name) && got.Version != "" // a digest
	return err == nil && gotErr == nil && got.Name == want.Name && exact &&
		(want.Version == "" || want.Version == got.Version) && definition.IsDigest(p.Digest)
}

// A Resolver resolves keys.
type Resolver struct {
	// Decide says which registry an Expert comes from.
	Decide func(key string) (scopes.Decision, error)
	// Stored returns what this machine has verified of a registry. It is not asked for anything.
	Stored func(scopes.Decision) (Source, error)
	// Connect returns a registry, which is asked.
	Connect func(context.Context, scopes.Decision) (Source, error)
	// Before is called once before registries are asked, with the keys; nil for nothing.
	Before func(ctx context.Context, keys []string) error
	Now    func() time.Time
}

// A Root is an Expert that was asked for.
type Root struct {
	Key     string // as it was asked for
	Pin     Pin
	Card    card.Card
	Closure []*client.Expert // the Expert, then all that it can reach
	Pinned  bool             // the key had a pin
	Fresh   bool             // a registry was asked for it
	// Newer is a version that the registry has said to be the newest one before, if it names an older one now.
	Newer string
}

// Expert is the one that was asked for.
func (r *Root) Expert() *client.Expert { return r.Closure[0] }

// Found is what keys mean.
type Found struct {
	Roots []Root // in the order of the keys
	// Decisions say where each Expert comes from, by exact key: those that a registry was asked for.
	Decisions map[string]scopes.Decision
}

// Keys has the exact key of each key.
func (f *Found) Keys() map[string]string {
	all := map[string]string{}
	for _, r := range f.Roots {
		all[r.Key] = r.Pin.Exact
	}
	return all
}

// All returns every Expert of all closures, once.
func (f *Found) All() (all []*client.Expert) {
	seen := map[string]bool{}
	for _, r := range f.Roots {
		for _, e := range r.Closure {
			if !seen[e.Key] {
				seen[e.Key] = true
				all = append(all, e)
			}
		}
	}
	return all
}

// Experts returns them as a job has them: delegates are named by the exact keys that they had when the
// Expert was published.
func (f *Found) Experts() (all []*expert.Expert) {
	for _, e := range f.All() {
		clone := *e.Expert
		clone.Delegates = nil
		for _, d := range e.Delegates {
			clone.Delegates = append(clone.Delegates, d.Exact)
		}
		all = append(all, &clone)
	}
	return all
}

// A group is the keys of one registry.
type group struct {
	decision scopes.Decision
	keys     []string
	stored   *client.Resolution // of pins that this machine has verified
	unknown  []string           // keys with a pin that it has not
	asked    *client.Resolution
}

// Resolve returns what keys mean. A key with a pin means that, and nothing else.
func (r *Resolver) Resolve(ctx context.Context, keys []string, pins map[string]Pin) (*Found, error) {
	groups, err := r.groups(keys, pins)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, g := range groups {
		if err := r.offline(ctx, g, pins); err != nil {
			return nil, err
		}
		open = append(open, g.open(pins)...)
	}
	if len(open) > 0 && r.Before != nil {
		if err := r.Before(ctx, open); err != nil {
			return nil, err
		}
	}
	found := &Found{Decisions: map[string]scopes.Decision{}}
	for _, g := range groups {
		if err := r.online(ctx, g, pins, found); err != nil {
			return nil, err
		}
	}
	for _, key := range keys {
		g := groups[slices.IndexFunc(groups, func(g *group) bool { return slices.Contains(g.keys, key) })]
		root, err := r.root(g, key, pins)
		if err != nil {
			return nil, err
		}
		found.Roots = append(found.Roots, root)
	}
	return found, nil
}

// Knows reports whether a key has a pin that this machine has verified, so that no request is needed.
func (r *Resolver) Knows(ctx context.Context, key string, pins map[string]Pin) bool {
	groups, err := r.groups([]string{key}, pins)
	return err == nil && r.offline(ctx, groups[0], pins) == nil && len(groups[0].open(pins)) == 0
}

// groups sorts keys by their registries.
func (r *Resolver) groups(keys []string, pins map[string]Pin) (groups []*group, err error) {
	for _, key := range keys {
		d, err := r.Decide(key)
		if err != nil {
			return nil, err
		}
		if p, ok := pins[key]; ok {
			switch {
			case !p.fits(key):
				return nil, refuse(d, client.Configuration, "", "%s is pinned as %q with the digest %q, which is none of its versions", key, p.Exact, p.Digest)
			case p.Registry != d.Registry.URL:
				return nil, refuse(d, client.Policy, "install the Experts again if the new place is right", "%s is pinned from %s, and comes from %s now", key, p.Registry, d.Registry.URL)
			}
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.decision.Registry.URL == d.Registry.URL })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{decision: d})
		}
		if !slices.Contains(groups[i].keys, key) {
			groups[i].keys = append(groups[i].keys, key)
		}
	}
	return groups, nil
}

// offline finds what is pinned and was verified on this machine.
func (r *Resolver) offline(ctx context.Context, g *group, pins map[string]Pin) error {
	g.stored = &client.Resolution{Experts: map[string]*client.Expert{}}
	for _, key := range g.keys {
		p, ok := pins[key]
		if !ok {
			continue
		}
		source, err := r.Stored(g.decision)
		if err != nil {
			return err
		}
		one, err := source.Offline(ctx, client.Pin{Key: p.Exact, Digest: p.Digest})
		if client.KindOf(err) == client.NotVerified {
			g.unknown = append(g.unknown, key)
			continue
		}
		if err != nil {
			return err
		}
		for exact, e := range one.Experts {
			g.stored.Experts[exact] = e
		}
	}
	return nil
}

// open are the keys that the registry is asked for: those without a pin as they are, and the exact ones of
// pins that this machine has not verified.
func (g *group) open(pins map[string]Pin) (keys []string) {
	for _, key := range g.keys {
		if p, ok := pins[key]; ok {
			if !slices.Contains(g.unknown, key) {
				continue
			}
			key = p.Exact
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// An UnknownPinError says that a pin was never verified on this machine, and cannot be now.
type UnknownPinError struct {
	Key string
	Pin Pin
	Err error
}

func (e *UnknownPinError) Error() string {
	return fmt.Sprintf("%s is pinned as %s, which was never verified on this machine, and the registry cannot be asked: %v", e.Key, e.Pin.Exact, e.Err)
}

func (e *UnknownPinError) Unwrap() error { return e.Err }

// online asks the registry for the rest.
func (r *Resolver) online(ctx context.Context, g *group, pins map[string]Pin, found *Found) error {
	keys := g.open(pins)
	if len(keys) == 0 {
		return nil
	}
	source, err := r.Connect(ctx, g.decision)
	if err != nil {
		return err
	}
	g.asked, err = source.Resolve(ctx, keys...)
	switch kind := client.KindOf(err); {
	case (kind == client.Network || kind == client.Timeout) && len(g.unknown) > 0:
		return &UnknownPinError{g.unknown[0], pins[g.unknown[0]], err}
	case err != nil:
		return err
	}
	for _, exact := range slices.Sorted(maps.Keys(g.asked.Experts)) {
		if found.Decisions[exact], err = r.Decide(exact); err != nil {
			return err
		}
	}
	return nil
}

// root puts an Expert and all that it can reach together.
func (r *Resolver) root(g *group, key string, pins map[string]Pin) (Root, error) {
	p, pinned := pins[key]
	root := Root{Key: key, Pinned: pinned, Fresh: !pinned || slices.Contains(g.unknown, key)}
	from, exact := g.stored, p.Exact
	if root.Fresh {
		if from = g.asked; !pinned {
			exact, root.Newer = from.Keys[key], from.Newer[key]
		}
	}
	e := from.Experts[exact]
	if e == nil {
		return root, refuse(g.decision, client.Unverified, "", "the answer does not have %s", key)
	}
	if pinned && e.Digest != p.Digest {
		return root, refuse(g.decision, client.Unverified, "", "%s is pinned with the digest %s, and the registry shows %s", key, p.Digest, e.Digest)
	}
	root.Closure = closure(e, from.Experts)
	root.Card = cardOf(root.Closure)
	root.Pin = Pin{Exact: exact, Digest: e.Digest, Registry: g.decision.Registry.URL, Index: e.Index, Signer: e.Signer, Card: root.Card.Hash()}
	if err := r.checkScopes(g, &root); err != nil {
		return root, err
	}
	return root, r.accept(g, &root)
}

// checkScopes refuses an Expert of a scope that is in another registry: anybody could have published it in
// this one. What this machine has stored was verified, but not asked this question.
func (r *Resolver) checkScopes(g *group, root *Root) error {
	for _, e := range root.Closure {
		d, err := r.Decide(e.Key)
		if err != nil {
			return err
		}
		if d.Registry.URL != g.decision.Registry.URL {
			return refuse(g.decision, client.Policy, "", "the answer has %s, which comes from %s", e.Key, d.Registry.URL)
		}
	}
	return nil
}

// closure is an Expert and all that it can reach, each once.
func closure(e *client.Expert, known map[string]*client.Expert) []*client.Expert {
	all, reached := []*client.Expert{e}, map[string]bool{e.Key: true}
	for i := 0; i < len(all); i++ {
		for _, d := range all[i].Delegates {
			if next := known[d.Exact]; next != nil && !reached[d.Exact] {
				reached[d.Exact] = true
				all = append(all, next)
			}
		}
	}
	return all
}

func cardOf(closure []*client.Expert) card.Card {
	var all []*definition.Definition
	for _, e := range closure {
		all = append(all, e.Definition)
	}
	return card.Of(all)
}

// Card is what one of the Experts can do, with all that it can reach.
func (f *Found) Card(e *client.Expert) card.Card {
	known := map[string]*client.Expert{}
	for _, one := range f.All() {
		known[one.Key] = one
	}
	return cardOf(closure(e, known))
}

// Card is what a pinned Expert can do, if this machine has verified it.
func Card(ctx context.Context, stored Source, p Pin) (card.Card, error) {
	found, err := stored.Offline(ctx, client.Pin{Key: p.Exact, Digest: p.Digest})
	if err != nil {
		return card.Card{}, err
	}
	return cardOf(closure(found.Experts[p.Exact], found.Experts)), nil
}

// accept refuses what must not run although it is what the registry published.
func (r *Resolver) accept(g *group, root *Root) error {
	if root.Pinned && !root.Fresh {
		return nil // it was accepted when this machine has verified it
	}
	k, err := expert.ParseReference(root.Key)
	if err != nil {
		return err
	}
	for _, e := range root.Closure {
		// Its owner must not break projects that have pinned it; [Found.Discouraged] has it then.
		if e.Status == api.Disabled && !root.Pinned {
			hint := "choose another version"
			if e.ReplacedBy != "" {
				hint = "its owner recommends " + e.ReplacedBy
			}
			return refuse(g.decision, client.Policy, hint, "%s is disabled%s", through(root, e), because(e.Message))
		}
		d, err := r.Decide(e.Key)
		if err != nil {
			return err
		}
		least := d.Policy.MinReleaseAge
		if k.Version != "" || least == 0 {
			continue // its name says which one it is
		}
		switch age := r.Now().Sub(e.PublishedAt); {
		case expert.IsOCI(root.Key):
			return refuse(g.decision, client.Policy, "name it with its digest", "minReleaseAge is %s, and a container registry does not prove when %s was published", roughly(least), e.Key)
		case e.PublishedAt.IsZero():
			return refuse(g.decision, client.Policy, "name it with its version", "minReleaseAge is %s, and a registry without a log does not prove when %s was published", roughly(least), through(root, e))
		case age < least:
			return refuse(g.decision, client.Policy, "name an older version, or this one exactly", "%s was published %s ago, and minReleaseAge is %s", through(root, e), roughly(age), roughly(least))
		}
	}
	return nil
}

// through names an Expert, and the one that leads to it.
func through(root *Root, e *client.Expert) string {
	if e == root.Expert() {
		return e.Key
	}
	return e.Key + ", to which " + root.Pin.Exact + " delegates,"
}

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// roughly writes a time span in its largest unit.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d/time.Hour))
	}
	return fmt.Sprintf("%d minutes", max(int(d/time.Minute), 0))
}

// Discouraged are the Experts that their owners advise against: those that are disabled, and those that are
// deprecated if a registry was asked for them.
func (f *Found) Discouraged() (all []*client.Expert) {
	for _, e := range f.All() {
		if _, asked := f.Decisions[e.Key]; e.Status == api.Disabled || asked && e.Status == api.Deprecated {
			all = append(all, e)
		}
	}
	return all
}

func refuse(d scopes.Decision, kind client.Kind, hint, format string, args ...any) error {
	return &client.Error{Kind: kind, Host: host(d.Registry.URL), Registry: d.Registry.URL, Operation: "resolve", Message: fmt.Sprintf(format, args...), Hint: hint}
}

// host is the part of an address between scheme and path.
func host(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// IsUnknownPin reports whether an error is about a pin that this machine cannot verify now.
func IsUnknownPin(err error) bool {
	_, ok := errors.AsType[*UnknownPinError](err)
	return ok
}
