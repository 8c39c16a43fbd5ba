package client

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/review"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/wording"
)

// A verification checks one answer against one checkpoint, which was checked before.
type verification struct {
	client     *Client
	operation  string
	at         tlog.Checkpoint
	leaves     map[string]string     // of publications, by exact key
	signatures map[string]string     // by exact key
	names      map[string]trust.Name // what was seen of them, with this answer
	newer      map[string]string     // versions that keys meant before, and that are newer than what they mean now
}

// lie says that what a registry answered is not true.
func (p *verification) lie(format string, args ...any) error {
	return p.client.failf(Unverified, p.operation, format, args...)
}

// resolved verifies an answer: every Expert by itself, then that they are what was asked for, and no others.
func (p *verification) resolved(keys []string, a *api.Resolved) (*Resolution, error) {
	if len(a.Experts) > api.MaxClosure {
		return nil, p.lie("the answer has %d Experts, more than %d", len(a.Experts), api.MaxClosure)
	}
	found := &Resolution{Keys: map[string]string{}, Experts: map[string]*Expert{}, Size: p.at.Size}
	for i := range a.Experts {
		e, err := p.expert(&a.Experts[i])
		if err != nil {
			return nil, err
		}
		if found.Experts[e.Key] != nil {
			return nil, p.lie("the answer has %s twice", e.Key)
		}
		found.Experts[e.Key] = e
	}
	for _, key := range keys {
		exact, err := p.meaning(key, a)
		if err != nil {
			return nil, err
		}
		found.Keys[key] = exact
	}
	if err := p.closure(found); err != nil {
		return nil, err
	}
	found.Newer = p.newer
	return found, p.policy(found)
}

// meaning checks what a key that was asked for means.
func (p *verification) meaning(key string, a *api.Resolved) (exact string, err error) {
	asked, err := expert.ParseKey(key)
	if err != nil {
		return "", err
	}
	exact, ok := a.Keys[key]
	if !ok {
		return "", p.lie("the answer does not say what %s means", key)
	}
	got, err := expert.ParseKey(exact)
	if err != nil || got.Name != asked.Name || !definition.IsVersion(got.Version) {
		return "", p.lie("the registry says that %s means %s", key, wording.Quote(exact))
	}
	if asked.Version != "" {
		if got.Version != asked.Version {
			return "", p.lie("the registry answers with %s instead of %s", exact, key)
		}
		return exact, nil
	}
	if i := slices.IndexFunc(a.Experts, func(e api.Expert) bool { return e.Key() == exact }); i >= 0 && a.Experts[i].Status == api.Disabled {
		return "", p.lie("the registry says that %s means %s, which is disabled", key, exact)
	}
	if asked.Tag == "" || asked.Tag == "latest" { // it is derived, and has no leaf
		return exact, p.newest(key, got)
	}
	entry, ok := a.Tags[key]
	if !ok {
		return "", p.lie("the answer has no proof that %s means %s", key, exact)
	}
	leaf, err := p.leaf(entry, tlog.Tagged)
	if err != nil {
		return "", err
	}
	if leaf.Name != asked.Name || leaf.Tag != asked.Tag || leaf.New != got.Version {
		return "", p.lie("the leaf %d sets the tag %s of %s to %s, and the registry says that %s means %s", entry.Index, wording.Quote(leaf.Tag), wording.Quote(leaf.Name), wording.Quote(leaf.New), key, exact)
	}
	name, err := p.name(asked.Name)
	if err != nil {
		return "", err
	}
	if before, seen := name.Tags[asked.Tag]; seen && entry.Index < before {
		return "", p.lie("the tag %s was set by the leaf %d, and the registry shows the older leaf %d, which sets it to %s", key, before, entry.Index, leaf.New)
	}
	tags := map[string]int64{asked.Tag: entry.Index}
	for tag, index := range name.Tags {
		if tag != asked.Tag {
			tags[tag] = index
		}
	}
	name.Tags = tags
	p.names[asked.Name] = name
	return exact, nil
}

// newest remembers the version that is said to be the newest one of a name, and notes if there was a newer
// one: the registry has no proof that there is none.
func (p *verification) newest(key string, got expert.Key) error {
	name, err := p.name(got.Name)
	if err != nil {
		return err
	}
	if trust.Newer(name.Latest, got.Version) {
		if p.newer == nil {
			p.newer = map[string]string{}
		}
		p.newer[key] = name.Latest
		return nil
	}
	name.Latest = got.Version
	p.names[got.Name] = name
	return nil
}

// name returns what was seen of a name, with what this answer has added.
func (p *verification) name(name string) (trust.Name, error) {
	if n, ok := p.names[name]; ok {
		return n, nil
	}
	n, err := p.client.log.Name(name)
	if err != nil {
		return n, p.client.fail(Storage, p.operation, err)
	}
	return n, nil
}

// leaf proves that a leaf is in the log, and reads it.
func (p *verification) leaf(entry api.Entry, kind tlog.Kind) (*tlog.Leaf, error) {
	if err := tlog.CheckLeaf(entry.Proof, p.at, entry.Index, []byte(entry.Leaf)); err != nil {
		return nil, p.client.fail(Unverified, p.operation, err)
	}
	leaf, err := tlog.ParseLeaf([]byte(entry.Leaf))
	if err != nil {
		return nil, p.client.fail(Unverified, p.operation, err)
	}
	if leaf.Kind == tlog.Sealed {
		if leaf, err = leaf.Open([]byte(entry.Sealed)); err != nil {
			return nil, p.client.fail(Unverified, p.operation, err)
		}
	}
	if leaf.Kind != kind {
		return nil, p.lie("the leaf %d is of the kind %s, not %s", entry.Index, leaf.Kind, kind)
	}
	return leaf, nil
}

// expert verifies one version: digest, leaf, proof, name, rules and signature, in this order. What it
// returns is made of the verified bytes.
func (p *verification) expert(a *api.Expert) (*Expert, error) {
	claimed := wording.Quote(a.Key())
	switch a.Status {
	case api.Available, api.Deprecated, api.Disabled:
	case api.Quarantined, api.Unpublished:
		return nil, p.client.failf(NotFound, p.operation, "%s is %s: %s", claimed, a.Status, shown(a.StatusMessage))
	default:
		return nil, p.lie("%s has the unknown status %s", claimed, wording.Quote(a.Status))
	}
	digest := definition.Digest(a.Content)
	if digest != a.Digest {
		return nil, p.lie("the content of %s has the digest %s, not %s", claimed, digest, wording.Quote(a.Digest))
	}
	leaf, err := p.leaf(a.Entry, tlog.Published)
	if err != nil {
		return nil, err
	}
	if leaf.Digest != digest || leaf.Name != a.Name || leaf.Version != a.Version.Version || a.Index != a.Entry.Index {
		return nil, p.lie("the leaf %d publishes %s with the digest %s, and the registry shows it as %s with %s", a.Entry.Index, wording.Quote(leaf.Name+"@"+leaf.Version), leaf.Digest, claimed, digest)
	}
	e, err := p.parse(a.Content, leaf.Name+"@"+leaf.Version)
	if err != nil {
		return nil, err
	}
	if err := p.delegates(e, leaf); err != nil {
		return nil, err
	}
	if e.Signer, err = p.signer(e, leaf, a.Signature); err != nil {
		return nil, err
	}
	e.Index, e.PublishedAt = a.Entry.Index, leaf.Time
	e.Status, e.Message, e.ReplacedBy = a.Status, shown(a.StatusMessage), shown(a.ReplacedBy)
	if p.leaves == nil {
		p.leaves, p.signatures = map[string]string{}, map[string]string{}
	}
	text, err := leaf.Text() // of the leaf that is sealed, if it is
	if err != nil {
		return nil, p.client.fail(Unverified, p.operation, err)
	}
	p.leaves[e.Key], p.signatures[e.Key] = string(text), a.Signature
	return e, nil
}

// parse makes an Expert of a canonical text. The text must be that of the key, and keep all rules for
// published Experts: a registry could have left its own checks out.
func (p *verification) parse(text []byte, key string) (*Expert, error) {
	d, err := definition.Parse(text)
	if err != nil {
		return nil, p.lie("%s: %s", wording.Quote(key), shown(err.Error()))
	}
	if d.Key() != key {
		return nil, p.lie("the definition of %s says that it is %s", wording.Quote(key), wording.Quote(d.Key()))
	}
	parsed, err := d.Expert()
	if err != nil {
		return nil, p.lie("%s breaks the rules for published Experts: %s", key, shown(err.Error()))
	}
	if err := review.Hidden(d); err != nil {
		return nil, p.lie("%s breaks the rules for published Experts: %s", key, shown(err.Error()))
	}
	return &Expert{Key: key, Digest: definition.Digest(text), Content: text, Definition: d, Expert: parsed}, nil
}

// delegates checks that the leaf says what each delegate of the definition means.
func (p *verification) delegates(e *Expert, leaf *tlog.Leaf) error {
	if len(leaf.Delegates) != len(e.Definition.Delegates) {
		return p.lie("%s has %s, and its leaf names %d", e.Key, wording.Count(len(e.Definition.Delegates), "delegate"), len(leaf.Delegates))
	}
	for i, d := range leaf.Delegates {
		if err := checkDelegate(d, e.Definition.Delegates[i]); err != nil {
			return p.lie("%s: %v", e.Key, err)
		}
	}
	e.Delegates = leaf.Delegates
	return nil
}

func checkDelegate(d tlog.Delegate, key string) error {
	want, err := expert.ParseKey(key)
	got, gotErr := expert.ParseKey(d.Exact)
	if err != nil || gotErr != nil || d.Key != key || got.Name != want.Name || !definition.IsVersion(got.Version) ||
		want.Version != "" && want.Version != got.Version || !definition.IsDigest(d.Digest) {
		return fmt.Errorf("its leaf says that the delegate %s is %s, which means %s", wording.Quote(key), wording.Quote(d.Key), wording.Quote(d.Exact))
	}
	return nil
}

// signer checks the signature, which the leaf names too: it can be neither taken away nor added later.
func (p *verification) signer(e *Expert, leaf *tlog.Leaf, armored string) (fingerprint string, err error) {
	sum := ""
	if armored != "" {
		hash := sha256.Sum256([]byte(armored))
		sum = hex.EncodeToString(hash[:])
	}
	switch {
	case leaf.Signature == "" && armored != "":
		return "", p.lie("%s was published without a signature, and the registry shows one", e.Key)
	case leaf.Signature != "" && armored == "":
		return "", p.lie("%s was published with a signature, and the registry does not show it", e.Key)
	case leaf.Signature != sum:
		return "", p.lie("%s was published with another signature than the one that the registry shows", e.Key)
	case armored == "":
		return "", nil
	}
	key, err := signature.Verify(armored, e.Content)
	if err != nil {
		return "", p.lie("%s: %s", e.Key, shown(err.Error()))
	}
	return signature.Fingerprint(key), nil
}

// closure checks that the Experts are those that were asked for and their delegates as the log pins them,
// all of them, no others, and without a circle.
func (p *verification) closure(found *Resolution) error {
	const open = -1 // its delegates are being visited
	heights := map[string]int{}
	var visit func(key string) error
	visit = func(key string) error {
		switch {
		case heights[key] == open:
			return p.lie("%s delegates to itself, through others", key)
		case heights[key] > 0:
			return nil
		}
		heights[key] = open
		height := 1
		for _, d := range found.Experts[key].Delegates {
			delegate := found.Experts[d.Exact]
			if delegate == nil {
				return p.lie("%s delegates to %s, which the answer does not have", key, d.Exact)
			}
			if delegate.Digest != d.Digest {
				return p.lie("%s was published with the delegate %s as %s, and the registry shows %s", key, d.Exact, d.Digest, delegate.Digest)
			}
			if err := visit(d.Exact); err != nil {
				return err
			}
			height = max(height, 1+heights[d.Exact])
		}
		if height > api.MaxDepth {
			return p.lie("%s delegates more than %d deep", key, api.MaxDepth)
		}
		heights[key] = height
		return nil
	}
	for key, exact := range found.Keys {
		if found.Experts[exact] == nil {
			return p.lie("the answer does not have %s, which %s means", exact, key)
		}
		if err := visit(exact); err != nil {
			return err
		}
	}
	for key := range found.Experts {
		if heights[key] == 0 {
			return p.lie("the answer has %s, which was not asked for", key)
		}
	}
	return nil
}

// policy checks what the user requires, with what the whole answer proves of signatures.
func (p *verification) policy(found *Resolution) error {
	for _, e := range found.Experts {
		name, err := p.name(e.Definition.Name)
		if err != nil {
			return err
		}
		if e.Signer != "" && (name.Signed == 0 || e.Index+1 < name.Signed) {
			name.Signed, name.Version = e.Index+1, e.Definition.Version
			p.names[name.Name] = name
		}
	}
	for _, e := range found.Experts {
		name, err := p.name(e.Definition.Name)
		if err != nil {
			return err
		}
		if err := p.client.accept(p.operation, e, name); err != nil {
			return err
		}
	}
	return nil
}
