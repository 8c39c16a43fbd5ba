package oci

import (
	"context"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/signature"
)

// A Pushed is what is in the registry now.
type Pushed struct {
	Ref    expert.OCI // with tag and digest
	Digest string     // of the definition
	// Existed says that the tag had this definition before.
	Existed bool
	Signer  string // fingerprint; empty if there is no signature
}

// Pin returns a definition whose delegates are references with a digest, which can be pushed. Every delegate
// must be in the container registry that the Expert is pushed to. Those without a digest are resolved, and all
// are checked with what they delegate to. A signature is made of the result.
func (s *Source) Pin(ctx context.Context, to string, d *definition.Definition) (*definition.Definition, error) {
	target, err := parse("push", to)
	if err != nil {
		return nil, err
	}
	pinned := *d
	pinned.Delegates = slices.Clone(d.Delegates)
	if len(pinned.Delegates) == 0 {
		return &pinned, nil
	}
	for _, key := range pinned.Delegates {
		if err := checkDelegate(action{"push", target}, key); err != nil {
			return nil, err
		}
	}
	found, err := s.Resolve(ctx, pinned.Delegates...)
	if err != nil {
		return nil, err
	}
	for i, key := range pinned.Delegates {
		ref, err := expert.ParseOCI(key)
		if err != nil {
			return nil, err
		}
		exact, err := expert.ParseOCI(found.Keys[key])
		if err != nil {
			return nil, err
		}
		ref.Digest = exact.Digest
		pinned.Delegates[i] = ref.String()
	}
	return &pinned, nil
}

// checkDelegate refuses a delegate that is not in the same registry.
func checkDelegate(a action, key string) error {
	ref, err := expert.ParseOCI(key)
	if err == nil && ref.Host == a.ref.Host {
		return nil
	}
	e := a.failf(client.Configuration, "its delegate %s is not in the container registry %s", shown(key), a.ref.Host)
	e.Hint = "push the delegate there first, and name it by its oci:// reference"
	return e
}

// A push is a definition on its way.
type push struct {
	source    *Source
	action    action
	d         *definition.Definition
	content   []byte
	signature string
	there     *fetched // what the tag means now; nil if it means something else, or nothing
	existed   bool     // it was there before
}

// Check does all that [Source.Push] does before it writes.
func (s *Source) Check(ctx context.Context, ref string, d *definition.Definition, armored string) (*Pushed, error) {
	p, err := s.prepare(ctx, ref, d, armored)
	if err != nil {
		return nil, err
	}
	return p.result(), nil
}

// Push stores a definition with pinned delegates under a tag, which is the version if the reference has none.
// A tag that is a version keeps its meaning for ever, as far as this client is concerned; other tags move. The
// tag is written last, after the signature: what it means is whole.
func (s *Source) Push(ctx context.Context, ref string, d *definition.Definition, armored string) (*Pushed, error) {
	p, err := s.prepare(ctx, ref, d, armored)
	if err != nil {
		return nil, err
	}
	if p.there == nil {
		if err := p.write(ctx); err != nil {
			return nil, err
		}
	} else if armored != "" {
		if err := s.sign(ctx, p.action, p.there, armored); err != nil {
			return nil, err
		}
	}
	return p.result(), nil
}

// prepare checks everything that can be checked without writing.
func (s *Source) prepare(ctx context.Context, text string, d *definition.Definition, armored string) (*push, error) {
	ref, err := parse("push", text)
	if err != nil {
		return nil, err
	}
	p := &push{source: s, action: action{"push", ref}, d: d, content: d.Encode(), signature: armored}
	if ref.Digest != "" {
		return nil, p.action.failf(client.Configuration, "a digest is the result of a push; leave it out")
	}
	if _, err := d.Expert(); err != nil {
		return nil, p.action.fail(client.Configuration, err)
	}
	for _, key := range d.Delegates {
		if err := checkDelegate(p.action, key); err != nil {
			return nil, err
		}
		if delegate, err := expert.ParseOCI(key); err != nil || delegate.Digest == "" {
			return nil, p.action.failf(client.Configuration, "its delegate %s has no digest", shown(key))
		}
	}
	if armored != "" {
		if _, err := signature.Verify(armored, p.content); err != nil {
			return nil, p.action.fail(client.Configuration, err)
		}
	}
	if p.action.ref.Tag == "" {
		p.action.ref.Tag = d.Version
	}
	return p, p.look(ctx)
}

// look finds out what the tag means now.
func (p *push) look(ctx context.Context) error {
	f := &fetched{ref: p.action.ref}
	err := p.source.manifest(ctx, f, false)
	switch {
	case client.KindOf(err) == client.NotFound:
		return nil
	case err != nil:
		return err
	}
	layer, _, err := readManifest(f.manifest, ExpertType, definition.MaxSize)
	if err == nil && layer.Digest == definition.Digest(p.content) {
		p.there, p.existed = f, true
		return nil
	}
	if err != nil {
		refused := p.action.failf(client.Refused, "the tag is used for something that is not an Expert: %v", err)
		refused.Hint = "choose another repository or tag"
		return refused
	}
	if definition.IsVersion(p.action.ref.Tag) {
		refused := p.action.failf(client.Refused, "version %s exists with other content, and versions do not change", p.action.ref.Tag)
		refused.Hint = "publish a new version"
		return refused
	}
	return nil
}

// write stores the layers, the manifest, the signature, and then the tag.
func (p *push) write(ctx context.Context) error {
	s, a := p.source, p.action
	layer := describe(ExpertType, p.content)
	layer.Annotations = map[string]string{titleAnnotation: "expert.json"}
	text, err := newManifest(ExpertType, layer, nil, annotations(p.d, s.options.Clock()))
	if err != nil {
		return a.fail(client.Configuration, err)
	}
	f := &fetched{ref: a.ref, manifest: text}
	f.ref.Digest = definition.Digest(text)
	repository := s.repository(a.ref)
	if err := s.within(ctx, a, client.Refused, func(ctx context.Context) error {
		if err := repository.putBlob(ctx, p.content); err != nil {
			return err
		}
		if err := repository.putBlob(ctx, emptyConfig); err != nil {
			return err
		}
		_, err := repository.putManifest(ctx, manifestType, f.ref.Digest, text)
		return err
	}); err != nil {
		return err
	}
	if p.signature != "" {
		if err := s.sign(ctx, a, f, p.signature); err != nil {
			return err
		}
	}
	if err := s.within(ctx, a, client.Refused, func(ctx context.Context) error {
		_, err := repository.putManifest(ctx, manifestType, a.ref.Tag, text)
		return err
	}); err != nil {
		return err
	}
	p.there = &fetched{ref: a.ref}
	if err := s.manifest(ctx, p.there, false); err != nil {
		return err
	}
	if p.there.ref.Digest != f.ref.Digest {
		return a.lie("the registry was given %s, and shows %s", f.ref.Digest, p.there.ref.Digest)
	}
	return nil
}

func (p *push) result() *Pushed {
	out := &Pushed{Ref: p.action.ref, Digest: definition.Digest(p.content), Existed: p.existed}
	if p.there != nil {
		out.Ref.Digest = p.there.ref.Digest
	}
	if p.signature != "" {
		if key, err := signature.Verify(p.signature, p.content); err == nil {
			out.Signer = signature.Fingerprint(key)
		}
	}
	return out
}
