package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// SetTag lets a tag of an Expert mean a version.
func (r *Registry) SetTag(ctx context.Context, by Actor, name, tag, number string) error {
	if tag == latest {
		return badRequest("Cannot manually set latest tag")
	}
	if err := checkTag(tag); err != nil {
		return err
	}
	if err := checkVersion(number); err != nil {
		return err
	}
	return r.update(ctx, func(t *change) error {
		v, err := t.taggable(by, name+"@"+number)
		if err != nil {
			return err
		}
		tags, err := t.tags(v.expertID)
		if err != nil {
			return err
		}
		custom := withoutLatest(tags[v.id])
		if !slices.Contains(custom, tag) && len(custom) >= api.MaxTags {
			return tooManyTags()
		}
		return t.setTag(by, v, tag)
	})
}

// RemoveTag removes a tag of an Expert. If from is not empty, the tag has to mean that version: it can have
// moved since the caller looked.
func (r *Registry) RemoveTag(ctx context.Context, by Actor, name, tag, from string) error {
	if tag == latest {
		return badRequest("Cannot remove latest tag from latest version")
	}
	return r.update(ctx, func(t *change) error {
		o, err := t.ownTags(by, name)
		if err != nil {
			return err
		}
		found, err := t.versionsWhere("JOIN tags t ON t.version_id = v.id WHERE e.id = $1 AND t.tag = $2", o.id, tag)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return notFound("Tag not found")
		}
		if from != "" && found[0].version != from {
			return badRequest("The tag means another version: %s", found[0].version)
		}
		return t.removeTag(by, found[0], tag)
	})
}

// setTags gives a version exactly these tags. The tag latest is what it is: on the version that has it, it
// can be given or left out.
func (t *change) setTags(by Actor, key string, wanted []string) error {
	v, err := t.taggable(by, key)
	if err != nil {
		return err
	}
	tags, err := t.tags(v.expertID)
	if err != nil {
		return err
	}
	had := tags[v.id]
	if slices.Contains(wanted, latest) && !slices.Contains(had, latest) {
		return badRequest("Cannot manually set latest tag")
	}
	wanted = withoutLatest(wanted)
	if len(wanted) > api.MaxTags {
		return tooManyTags()
	}
	for _, tag := range wanted {
		if err := checkTag(tag); err != nil {
			return err
		}
		if err := t.setTag(by, v, tag); err != nil {
			return err
		}
	}
	for _, tag := range withoutLatest(had) {
		if !slices.Contains(wanted, tag) {
			if err := t.removeTag(by, v, tag); err != nil {
				return err
			}
		}
	}
	return nil
}

// taggable returns the version that an exact key names, if the actor can tag it. What tags mean is for the
// owner to say, not for an administrator.
func (t *change) taggable(by Actor, key string) (version, error) {
	k, err := parseKey(key)
	if err != nil {
		return version{}, err
	}
	if _, err := t.ownTags(by, k.Name); err != nil {
		return version{}, err
	}
	v, err := t.exactly(by, Tag, key)
	if err == nil && v.status == api.Quarantined {
		err = badRequest("The version is withheld by an administrator")
	}
	return v, err
}

func (t *change) ownTags(by Actor, name string) (owned, error) {
	o, err := t.owned(by, Tag, name)
	if err == nil && o.orgID != by.OrgID {
		err = badRequest("Expert is not owned by the organization")
	}
	return o, err
}

func withoutLatest(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == latest })
}

func tooManyTags() error { return invalid(fmt.Errorf("a version can have %d tags", api.MaxTags)) }

// setTag lets a tag mean a version, and tells the log.
func (t *change) setTag(by Actor, v version, tag string) error {
	var old string
	if _, err := t.one("SELECT v.version FROM tags t JOIN versions v ON v.id = t.version_id WHERE t.expert_id = $1 AND t.tag = $2", []any{v.expertID, tag}, &old); err != nil {
		return err
	}
	if old == v.version {
		return nil
	}
	number, err := t.record(v.visibility, tlog.Leaf{Kind: tlog.Tagged, Name: v.name, Tag: tag, Old: old, New: v.version, Actor: by.logName()})
	if err != nil {
		return err
	}
	if err := t.exec("INSERT INTO tags (expert_id, tag, version_id, leaf) VALUES ($1, $2, $3, $4) ON CONFLICT (expert_id, tag) DO UPDATE SET version_id = excluded.version_id, leaf = excluded.leaf", v.expertID, tag, v.id, number); err != nil {
		return err
	}
	return t.audit(by, "tag", v.name+"@"+tag, old+" to "+v.version, number)
}

// removeTag removes a tag of a version, and tells the log.
func (t *change) removeTag(by Actor, v version, tag string) error {
	number, err := t.record(v.visibility, tlog.Leaf{Kind: tlog.Tagged, Name: v.name, Tag: tag, Old: v.version, Actor: by.logName()})
	if err != nil {
		return err
	}
	if err := t.exec("DELETE FROM tags WHERE expert_id = $1 AND tag = $2", v.expertID, tag); err != nil {
		return err
	}
	return t.audit(by, "remove tag", v.name+"@"+tag, v.version, number)
}
