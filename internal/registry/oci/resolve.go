package oci

import (
	"context"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/review"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

const (
	operation = "resolve"
	// atOnce is how many Experts are fetched at the same time.
	atOnce = 8
)

// Resolve returns what references mean, with everything that they delegate to, checked and stored for
// [Source.Offline]. What has a digest and was fetched before costs no request. The exact keys of the answer
// are references without a tag.
func (s *Source) Resolve(ctx context.Context, refs ...string) (*client.Resolution, error) {
	if len(refs) == 0 || len(refs) > api.MaxClosure {
		return nil, action{operation: operation}.failf(client.Configuration, "1 to %d references can be asked for, not %d", api.MaxClosure, len(refs))
	}
	r := &resolution{source: s, found: map[string]*fetched{}}
	level := make([]wanted, len(refs))
	for i, text := range refs {
		ref, err := parse(operation, text)
		if err != nil {
			return nil, err
		}
		level[i] = wanted{ref: ref, floating: ref.Digest == ""}
	}
	first, err := r.closure(ctx, level)
	if err != nil {
		return nil, err
	}
	answer := &client.Resolution{Keys: map[string]string{}, Experts: map[string]*client.Expert{}}
	for i, text := range refs {
		answer.Keys[text] = first[i].expert.Key
	}
	for key, f := range r.found {
		answer.Experts[key] = f.expert
	}
	return answer, r.commit(ctx)
}

// wanted is an Expert to fetch.
type wanted struct {
	ref      expert.OCI
	floating bool // only the registry says what the reference means
}

// fetched is one that was checked.
type fetched struct {
	ref       expert.OCI // with digest
	expert    *client.Expert
	manifest  []byte
	signature string
	seen      trust.Name // what is known of the repository
	known     bool       // it was in the store, whole, and nothing was added
}

// A resolution is a closure that grows level by level.
type resolution struct {
	source *Source
	stored bool                // no request is made
	found  map[string]*fetched // by exact key
}

// closure fetches Experts and all that they delegate to. It returns those of the first level.
func (r *resolution) closure(ctx context.Context, level []wanted) (first []*fetched, err error) {
	for depth := 1; len(level) > 0; depth++ {
		if depth > api.MaxDepth {
			return nil, action{operation, level[0].ref}.lie("delegation is more than %d deep", api.MaxDepth)
		}
		got, err := r.fetchAll(ctx, level)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = got
		}
		level = nil
		// All of this level are known before the next one is made: one of them can delegate to another.
		var added []*fetched
		for _, f := range got {
			known := r.found[f.expert.Key]
			switch {
			case known == nil:
				r.found[f.expert.Key] = f
				added = append(added, f)
			case f.expert.Unverified: // one reference by tag is enough
				known.expert.Unverified = true
			}
		}
		asked := map[string]bool{}
		for _, f := range added {
			delegates, err := delegatesOf(f)
			if err != nil {
				return nil, err
			}
			for _, d := range delegates {
				if key := d.ref.Exact(); r.found[key] == nil && !asked[key] {
					asked[key] = true
					level = append(level, d)
				}
			}
			if len(r.found)+len(level) > api.MaxClosure {
				return nil, action{operation, f.ref}.lie("more than %d Experts are reached by delegation", api.MaxClosure)
			}
		}
	}
	for _, f := range r.found {
		for i := range f.expert.Delegates {
			d := &f.expert.Delegates[i]
			d.Digest = r.found[d.Exact].expert.Digest
		}
	}
	for i, f := range first {
		first[i] = r.found[f.expert.Key]
	}
	return first, nil
}

// delegatesOf returns what an Expert delegates to. Each is a reference with a digest, as [Source.Pin] writes them.
func delegatesOf(f *fetched) (all []wanted, err error) {
	a := action{operation, f.ref}
	for _, key := range f.expert.Definition.Delegates {
		ref, err := expert.ParseOCI(key)
		if err != nil || ref.Digest == "" {
			return nil, a.lie("its delegate %s is not a reference with a digest", shown(key))
		}
		// The user knows which registry is asked. An Expert cannot name another one.
		if ref.Host != f.ref.Host {
			return nil, a.lie("its delegate %s is in another registry", shown(key))
		}
		f.expert.Delegates = append(f.expert.Delegates, tlog.Delegate{Key: key, Exact: ref.Exact()})
		all = append(all, wanted{ref: ref})
	}
	// What runs has the exact keys: a tag in them is for people.
	f.expert.Expert.Delegates = nil
	for _, d := range f.expert.Delegates {
		f.expert.Expert.Delegates = append(f.expert.Expert.Delegates, d.Exact)
	}
	return all, nil
}

// fetchAll fetches several Experts at the same time. The error is that of the first one that has one.
func (r *resolution) fetchAll(ctx context.Context, all []wanted) ([]*fetched, error) {
	got, errs := make([]*fetched, len(all)), make([]error, len(all))
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, w := range all {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			got[i], errs[i] = r.source.expert(ctx, w, r.stored)
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

// expert returns one Expert, from the store as far as that has it: its manifest, its definition, and its
// signature if there is one.
func (s *Source) expert(ctx context.Context, w wanted, stored bool) (*fetched, error) {
	a := action{operation, w.ref}
	if err := ctx.Err(); err != nil {
		return nil, a.fail(client.Cancelled, err)
	}
	log := s.options.Trust.Log(w.ref.Name())
	f := &fetched{ref: w.ref}
	var err error
	if f.seen, err = log.Name(w.ref.Name()); err != nil {
		return nil, a.fail(client.Storage, err)
	}
	if w.floating {
		if err := s.manifest(ctx, f, stored); err != nil {
			return nil, err
		}
		a.ref = f.ref
	}
	record, recorded, err := log.Verified(f.ref.Digest)
	if err != nil {
		return nil, a.fail(client.Storage, err)
	}
	if stored && !recorded {
		return nil, a.failf(client.NotVerified, "it was never fetched on this machine")
	}
	f.known = recorded
	if f.manifest == nil {
		if f.manifest, _, err = s.options.Trust.Definition(f.ref.Digest); err != nil {
			return nil, a.fail(client.Unverified, err)
		}
	}
	if f.manifest == nil {
		f.known = false
		if err := s.manifest(ctx, f, stored); err != nil {
			return nil, err
		}
	}
	if err := s.definition(ctx, a, f, stored); err != nil {
		return nil, err
	}
	required := s.requiredOf(f)
	f.signature = record.Signature
	signer, err := signerOf(a, f)
	if err != nil {
		return nil, err
	}
	// A signature can be added later. It is looked for again where that can make a difference.
	if !stored && (!recorded || signer == "" && w.floating || required.signed() && !required.trusted(signer)) {
		if f.signature, err = s.findSignature(ctx, a, f, required); err != nil {
			return nil, err
		}
		f.known = f.known && f.signature == record.Signature
	}
	if f.expert.Signer, err = signerOf(a, f); err != nil {
		return nil, err
	}
	return f, accept(a, f, required, w.floating)
}

// manifest fetches the manifest that a reference names. After it, the reference has a digest.
func (s *Source) manifest(ctx context.Context, f *fetched, stored bool) error {
	a := action{operation, f.ref}
	if stored {
		return a.failf(client.NotVerified, "its manifest is no longer stored on this machine")
	}
	name, otherwise := f.ref.Digest, client.Unverified
	if name == "" {
		name, otherwise = f.ref.Tag, client.WrongAnswer
	}
	if name == "" {
		name = Latest
	}
	err := s.within(ctx, a, otherwise, func(ctx context.Context) error {
		var err error
		f.manifest, err = s.repository(f.ref).manifest(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	f.ref.Digest = definition.Digest(f.manifest)
	return nil
}

// definition fetches the layer, and makes the Expert of it.
func (s *Source) definition(ctx context.Context, a action, f *fetched, stored bool) error {
	layer, _, err := readManifest(f.manifest, ExpertType, definition.MaxSize)
	if err != nil {
		return a.failf(client.WrongAnswer, "it is not an Expert: %v", err)
	}
	text, ok, err := s.options.Trust.Definition(layer.Digest)
	switch {
	case err != nil:
		return a.fail(client.Unverified, err)
	case !ok && stored:
		return a.failf(client.NotVerified, "its definition is no longer stored on this machine")
	case !ok:
		f.known = false
		if err := s.within(ctx, a, client.Unverified, func(ctx context.Context) error {
			text, err = s.repository(f.ref).blob(ctx, layer)
			return err
		}); err != nil {
			return err
		}
	}
	d, err := definition.Parse(text)
	if err != nil {
		return a.lie("%s", shown(err.Error()))
	}
	parsed, err := d.Expert()
	if err != nil {
		return a.lie("it breaks the rules for published Experts: %s", shown(err.Error()))
	}
	if err := review.Hidden(d); err != nil {
		return a.lie("it breaks the rules for published Experts: %s", shown(err.Error()))
	}
	// Everyone can put any name into a definition. What runs is called as what was asked for.
	parsed.Key, parsed.Name, parsed.Version = f.ref.Exact(), f.ref.Name(), f.ref.Digest
	f.expert = &client.Expert{
		Key: f.ref.Exact(), Digest: layer.Digest, Content: text, Definition: d, Expert: parsed, Status: api.Available,
	}
	return nil
}

// commit stores what was checked, after all of it was.
func (r *resolution) commit(ctx context.Context) error {
	s := r.source
	for key, f := range r.found {
		if f.known {
			continue
		}
		add := trust.Commit{
			Definitions: [][]byte{f.manifest, f.expert.Content},
			Records:     []trust.Record{{Digest: f.ref.Digest, Key: key, Signature: f.signature, Status: api.Available, Time: s.options.Clock().UTC()}},
		}
		if f.expert.Signer != "" && f.seen.Version != f.expert.Definition.Version {
			f.seen.Signed, f.seen.Version = f.seen.Signed+1, f.expert.Definition.Version
			add.Names = []trust.Name{f.seen}
		}
		if err := s.options.Trust.Log(f.ref.Name()).Commit(ctx, add); err != nil {
			return action{operation, f.ref}.fail(client.Storage, err)
		}
	}
	return nil
}

// Offline returns pinned Experts, with all that they delegate to, from what [Source.Resolve] has checked on
// this machine before. It makes no request. The key of a pin is a reference with a digest.
func (s *Source) Offline(ctx context.Context, pins ...client.Pin) (*client.Resolution, error) {
	const operation = "read"
	r := &resolution{source: s, stored: true, found: map[string]*fetched{}}
	answer := &client.Resolution{Keys: map[string]string{}, Experts: map[string]*client.Expert{}}
	var level []wanted
	for _, pin := range pins {
		ref, err := parse(operation, pin.Key)
		if err != nil {
			return nil, err
		}
		if ref.Digest == "" {
			return nil, action{operation, ref}.failf(client.Configuration, "a pin needs a digest")
		}
		level = append(level, wanted{ref: ref})
		answer.Keys[pin.Key] = ref.Exact()
	}
	first, err := r.closure(ctx, level)
	if err != nil {
		return nil, err
	}
	for i, pin := range pins {
		if first[i].expert.Digest != pin.Digest {
			return nil, action{operation, level[i].ref}.lie("its definition is pinned as %s, and has the digest %s", shown(pin.Digest), first[i].expert.Digest)
		}
	}
	for key, f := range r.found {
		answer.Experts[key] = f.expert
	}
	return answer, nil
}
