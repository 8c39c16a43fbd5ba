package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/review"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A publication is a version that a client wants to publish.
type publication struct {
	by        Actor
	asked     api.Publish
	d         *definition.Definition
	digest    string
	signer    string // fingerprint; empty without a signature
	repeatKey string
}

// PublishOptions are what a client can add to a publication.
type PublishOptions struct {
	RepeatKey string // a second publication with it and the same content returns what the first one did
	Digest    string // what the client computed; another one refuses the publication
	From      int64  // size of the log that the client knows; the answer proves that the log grew from it
}

// Publish publishes a version, for ever.
func (r *Registry) Publish(ctx context.Context, by Actor, asked api.Publish, opts PublishOptions) (done api.Published, err error) {
	p, err := r.examine(by, asked, opts)
	if err != nil {
		return done, err
	}
	var id string
	if err := r.update(ctx, func(t *change) error { id, err = t.publish(p); return err }); err != nil {
		return done, err
	}
	err = r.view(ctx, func(l *look) error {
		h, err := l.head(r.opts.Origin)
		if err != nil {
			return err
		}
		v, err := l.versionByID(id)
		if err != nil {
			return err
		}
		done.Checkpoint = string(h.note)
		if opts.From <= h.size { // what was published stays so, whatever a client thinks of the log
			if done.Growth, err = l.growth(h, opts.From); err != nil {
				return err
			}
		}
		done.Expert, err = l.expert(v, h)
		return err
	})
	return done, err
}

// Validate does everything that [Registry.Publish] does, except to publish.
// It returns what readers of the version would be told.
func (r *Registry) Validate(ctx context.Context, by Actor, asked api.Publish, opts PublishOptions) (advisories []string, err error) {
	p, err := r.examine(by, asked, opts)
	if err != nil {
		return nil, err
	}
	err = r.update(ctx, func(t *change) error {
		id, err := t.publish(p)
		if err != nil {
			return err
		}
		v, err := t.versionByID(id)
		if err != nil {
			return err
		}
		advisories = unlines(v.advisories)
		return errValid
	})
	if errors.Is(err, errValid) {
		return advisories, nil
	}
	return nil, err
}

// errValid undoes a publication that was only tried.
var errValid = errors.New("the version could be published")

// examine checks what needs no database.
func (r *Registry) examine(by Actor, asked api.Publish, opts PublishOptions) (*publication, error) {
	d, err := definition.Parse(asked.Content)
	if err != nil {
		return nil, invalid(err)
	}
	if err := by.May(Publish, d.Name); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(asked.Tags, func(tag string) bool { return tag != latest }) {
		if err := by.May(Tag, d.Name); err != nil { // it moves the tag away from another version
			return nil, err
		}
	}
	if err := r.checkName(by, d.Name); err != nil {
		return nil, err
	}
	if !isLine(opts.RepeatKey, maxRepeatKey) {
		return nil, &Error{Status: invalidStatus, Field: api.IdempotencyHeader, Reason: fmt.Sprintf("the idempotency key is text of at most %d bytes", maxRepeatKey)}
	}
	if _, ok := d.Skills[expert.BaseSkill]; !ok {
		return nil, badRequest("%s is required", expert.BaseSkill)
	}
	if err := review.Check(d, review.Options{Strict: r.opts.Strict}); err != nil {
		return nil, invalid(err)
	}
	p := &publication{by: by, asked: asked, d: d, digest: definition.Digest(asked.Content), repeatKey: opts.RepeatKey}
	if opts.Digest != "" && opts.Digest != p.digest {
		return nil, invalid(fmt.Errorf("the definition has the digest %s, and the client computed %s", p.digest, opts.Digest))
	}
	if asked.Signature != "" {
		key, err := signature.Verify(asked.Signature, asked.Content)
		if err != nil {
			return nil, invalid(err)
		}
		p.signer = signature.Fingerprint(key)
	}
	tags := slices.DeleteFunc(slices.Clone(asked.Tags), func(tag string) bool { return tag == latest })
	if len(tags) > api.MaxTags {
		return nil, invalid(fmt.Errorf("a version can have %d tags", api.MaxTags))
	}
	for _, tag := range tags {
		if err := checkTag(tag); err != nil {
			return nil, err
		}
	}
	p.asked.Tags = tags
	if asked.Visibility != "" && asked.Visibility != api.Public && asked.Visibility != api.Private {
		return nil, invalid(fmt.Errorf("%q is not a visibility; use public or private", asked.Visibility))
	}
	return p, nil
}

// maxRepeatKey bounds the keys of publications that can be repeated.
const maxRepeatKey = 255

// isLine reports whether a text is one line of a length.
func isLine(text string, longest int) bool {
	return len(text) <= longest && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// latest is the tag that no publisher sets: it follows from the versions.
const latest = "latest"

func checkTag(tag string) error {
	if !expert.ValidTag(tag) || definition.IsVersion(tag) {
		return invalid(fmt.Errorf("%q is not a tag; use lower-case letters, digits, - and _", tag))
	}
	return nil
}

// publish adds a version with its leaf, and returns its id.
func (t *change) publish(p *publication) (id string, err error) {
	var digest string
	repeated, err := t.one("SELECT v.id, v.digest FROM idempotency i JOIN versions v ON v.id = i.version_id WHERE i.org_id = $1 AND i.key = $2", []any{p.by.OrgID, p.repeatKey}, &id, &digest)
	if err != nil || repeated && digest == p.digest {
		return id, err
	}
	if repeated {
		return "", badRequest("The idempotency key was used for another version")
	}
	owner, err := t.expertFor(p)
	if err != nil {
		return "", err
	}
	if err := t.checkSigner(p); err != nil {
		return "", err
	}
	before, err := t.versions(owner.id)
	if err != nil {
		return "", err
	}
	for _, v := range before {
		if v.version == p.d.Version {
			return "", badRequest("Version %s is already published", p.d.Version)
		}
	}
	if len(before) >= maxVersions {
		return "", badRequest("An Expert can have %d versions", maxVersions)
	}
	pinned, leafDelegates, err := t.pinDelegates(p, owner.visibility)
	if err != nil {
		return "", err
	}
	leaf := tlog.Leaf{Kind: tlog.Published, Name: p.d.Name, Version: p.d.Version, Digest: p.digest, Delegates: leafDelegates, Actor: p.by.logName()}
	leaf.Signature = signatureHash(p.asked.Signature)
	number, err := t.record(owner.visibility, leaf)
	if err != nil {
		return "", err
	}
	previous, err := t.newestBefore(before, p.d.Version)
	if err != nil {
		return "", err
	}
	advisories := review.Advise(p.d, previous)
	id = t.r.opts.NewID()
	now := t.at.UnixMilli()
	for _, s := range []struct {
		query string
		args  []any
	}{
		{"INSERT INTO contents (digest, bytes) VALUES ($1, $2)", []any{p.digest, p.asked.Content}},
		{"INSERT INTO versions (id, expert_id, version, digest, org_id, key_id, signature, signer, created_at, log, leaf) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
			[]any{id, owner.id, p.d.Version, p.digest, p.by.OrgID, p.by.KeyID, p.asked.Signature, p.signer, now, t.r.opts.Origin, number}},
		{"INSERT INTO version_states (version_id, status, message, replaced_by, advisories, description, updated_at) VALUES ($1, $2, '', '', $3, $4, $5)", []any{id, api.Available, lines(advisories), p.d.Description, now}},
		{"UPDATE experts SET updated_at = $1 WHERE id = $2", []any{now, owner.id}},
	} {
		if err := t.exec(s.query, s.args...); err != nil {
			return "", err
		}
	}
	if err := t.audit(p.by, "publish", p.d.Key(), p.digest, number); err != nil {
		return "", err
	}
	if p.repeatKey != "" {
		if err := t.exec("INSERT INTO idempotency (org_id, key, version_id, at) VALUES ($1, $2, $3, $4)", p.by.OrgID, p.repeatKey, id, now); err != nil {
			return "", err
		}
	}
	for i, v := range pinned {
		if err := t.exec("INSERT INTO delegations (version_id, position, key, delegate_id) VALUES ($1, $2, $3, $4)", id, i, p.d.Delegates[i], v.id); err != nil {
			return "", err
		}
	}
	added, err := t.versionByID(id)
	if err != nil {
		return "", err
	}
	for _, tag := range p.asked.Tags {
		if err := t.setTag(p.by, added, tag); err != nil {
			return "", err
		}
	}
	all := slices.Concat(before, []version{added})
	sortVersions(all)
	return id, t.listAs(owner.id, all)
}

// signatureHash is how the log names a signature.
func signatureHash(armored string) string {
	if armored == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(armored))
	return hex.EncodeToString(sum[:])
}

const maxVersions = 10_000

// An owned Expert is a name with its owner.
type owned struct {
	id, name, orgID, visibility string
}

// expertFor returns the Expert that a version belongs to. A name that is new belongs to its first
// publisher from then on.
func (t *change) expertFor(p *publication) (owned, error) {
	o := owned{name: p.d.Name}
	known, err := t.one("SELECT id, org_id, visibility FROM experts WHERE name = $1", []any{p.d.Name}, &o.id, &o.orgID, &o.visibility)
	if err != nil {
		return o, err
	}
	if known {
		if o.orgID != p.by.OrgID {
			if o.visibility == api.Private {
				return o, badRequest("The name %s is taken, or too similar to one that is", p.d.Name)
			}
			return o, badRequest("Expert %s already exists", p.d.Name)
		}
		if p.asked.Visibility != "" && p.asked.Visibility != o.visibility {
			return o, badRequest("Expert %s is %s, which cannot be changed", p.d.Name, o.visibility)
		}
		return o, nil
	}
	if err := t.checkNewName(p.d.Name, p.by.OrgID); err != nil {
		return o, err
	}
	if err := t.checkNewNames(p.by.OrgID); err != nil {
		return o, err
	}
	o.id, o.orgID, o.visibility = t.r.opts.NewID(), p.by.OrgID, p.asked.Visibility
	if o.visibility == "" {
		if _, err := t.one("SELECT visibility FROM organizations WHERE id = $1", []any{p.by.OrgID}, &o.visibility); err != nil {
			return o, err
		}
	}
	now := t.at.UnixMilli()
	return o, t.exec("INSERT INTO experts (id, name, org_id, visibility, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)", o.id, o.name, o.orgID, o.visibility, now)
}

// newestBefore returns the definition of the highest version below another whose content was not erased; nil
// if there is none.
func (t *change) newestBefore(all []version, than string) (*definition.Definition, error) {
	for _, v := range all { // the highest first
		if definition.CompareVersions(v.version, than) > 0 || v.status == api.Unpublished {
			continue
		}
		content, err := t.content(v.digest)
		if err != nil {
			return nil, err
		}
		return definition.Parse(content)
	}
	return nil, nil
}
