package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// undoTime is how long a version can be unpublished, and how long an administrator can take back that it was
// disabled.
const undoTime = 72 * time.Hour

// exactly returns the version that an exact key names, if the actor may do something with it. Administrators
// may without owning it.
func (t *change) exactly(by Actor, scope Scope, key string) (v version, err error) {
	k, err := parseKey(key)
	if err != nil {
		return v, err
	}
	if k.Version == "" {
		return v, &Error{Status: invalidStatus, Reason: "version required", Hint: "write the key as " + k.Name + "@1.0.0"}
	}
	if _, err := t.owned(by, scope, k.Name); err != nil {
		return v, err
	}
	found, err := t.versionsWhere("WHERE e.name = $1 AND v.version = $2", k.Name, k.Version)
	if err == nil && (len(found) == 0 || found[0].status == api.Unpublished) {
		err = notFound("Expert not found")
	}
	if err != nil {
		return v, err
	}
	return found[0], nil
}

// owned returns the Expert that has a name, if the actor may do something with it.
func (t *change) owned(by Actor, scope Scope, name string) (o owned, err error) {
	o.name = name
	if !by.IsAdmin() {
		if err := by.May(scope, name); err != nil {
			return o, err
		}
	}
	known, err := t.one("SELECT id, org_id, visibility FROM experts WHERE name = $1", []any{name}, &o.id, &o.orgID, &o.visibility)
	switch {
	case err != nil:
		return o, err
	case !known || o.visibility == api.Private && !by.sees(o.orgID, name):
		return o, notFound("Expert not found")
	case o.orgID != by.OrgID && !by.IsAdmin():
		return o, badRequest("Expert is not owned by the organization")
	}
	return o, nil
}

// An Update changes what can change about a version. A nil field stays as it is.
type Update struct {
	Status *api.SetStatus
	Tags   *[]string // all tags of the version; latest need not be among them
}

// Update changes the status and the tags of a version, and returns what it is then.
func (r *Registry) Update(ctx context.Context, by Actor, key string, u Update) (rec Record, err error) {
	if u.Status == nil && u.Tags == nil {
		return rec, invalid(errors.New("there is nothing to change; give a status or tags"))
	}
	err = r.update(ctx, func(t *change) error {
		if u.Tags != nil {
			if err := t.setTags(by, key, *u.Tags); err != nil {
				return err
			}
		}
		if u.Status != nil {
			if err := t.setStatus(by, key, *u.Status); err != nil {
				return err
			}
		}
		rec, err = t.current(key)
		return err
	})
	return rec, err
}

// current returns the version that an exact key names, as it is now.
func (l *look) current(key string) (rec Record, err error) {
	k, err := parseKey(key)
	if err != nil {
		return rec, err
	}
	found, err := l.versionsWhere("WHERE e.name = $1 AND v.version = $2", k.Name, k.Version)
	if err != nil || len(found) == 0 {
		return rec, errors.Join(err, notFound("Expert not found"))
	}
	return l.recordOf(found[0])
}

// setStatus changes a status as an owner may. An administrator may also take back that a version was disabled.
func (t *change) setStatus(by Actor, key string, to api.SetStatus) error {
	v, err := t.exactly(by, Status, key)
	if err != nil {
		return err
	}
	if err := checkStatus(to); err != nil {
		return err
	}
	undo := by.IsAdmin() && v.status == api.Disabled && t.at.Sub(millis(v.updatedAt)) <= undoTime
	switch {
	case v.status == api.Quarantined:
		return badRequest("The version is withheld by an administrator")
	case v.status == api.Disabled && !undo:
		return badRequest("Cannot change status of disabled expert")
	case v.status == to.Status:
		return badRequest("Status is the same as the current status")
	case v.status == api.Deprecated && to.Status == api.Available:
		return badRequest("Cannot change deprecated expert to available")
	}
	return t.changeStatus(by, v, to)
}

// checkStatus refuses what cannot be a status.
func checkStatus(to api.SetStatus) error {
	if !slices.Contains([]string{api.Available, api.Deprecated, api.Disabled}, to.Status) {
		return invalid(fmt.Errorf("%q is not a status; use %s, %s or %s", to.Status, api.Available, api.Deprecated, api.Disabled))
	}
	if to.ReplacedBy != "" {
		if _, err := expert.ParseKey(to.ReplacedBy); err != nil {
			return invalid(fmt.Errorf("replacedBy: %w", err))
		}
	}
	if len(to.Message) > maxMessage || !utf8.ValidString(to.Message) {
		return invalid(fmt.Errorf("a message is text of at most %d bytes", maxMessage))
	}
	return nil
}

const maxMessage = 2048

// changeStatus stores a status, and tells the log.
func (t *change) changeStatus(by Actor, v version, to api.SetStatus) error {
	leaf := tlog.Leaf{Kind: tlog.StatusChanged, Name: v.name, Version: v.version, Old: v.status, New: to.Status, Message: messageDigest(to.Message), Actor: by.logName()}
	number, err := t.record(v.visibility, leaf)
	if err != nil {
		return err
	}
	now := t.at.UnixMilli()
	if err := t.exec("UPDATE version_states SET status = $1, message = $2, replaced_by = $3, updated_at = $4, previous = $5 WHERE version_id = $6", to.Status, to.Message, to.ReplacedBy, now, v.status, v.id); err != nil {
		return err
	}
	if err := t.exec("UPDATE experts SET updated_at = $1 WHERE id = $2", now, v.expertID); err != nil {
		return err
	}
	if err := t.relist(v.expertID); err != nil {
		return err
	}
	return t.audit(by, "status", v.name+"@"+v.version, v.status+" to "+to.Status, number)
}

// messageDigest is how the log names a message.
func messageDigest(message string) string {
	if message == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(message))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Unpublish erases the content of a version. Its number cannot be used again. An owner can do that for 72
// hours if no other version delegates to it, an administrator always.
func (r *Registry) Unpublish(ctx context.Context, by Actor, key string) error {
	err := r.update(ctx, func(t *change) error {
		v, err := t.exactly(by, Unpublish, key)
		if err != nil {
			return err
		}
		why := "legal"
		if !by.IsAdmin() {
			why = "owner"
			used, err := t.one("SELECT d.version_id FROM delegations d JOIN version_states s ON s.version_id = d.version_id WHERE d.delegate_id = $1 AND d.version_id <> $1 AND s.status <> $2 LIMIT 1", []any{v.id, api.Unpublished}, new(string))
			switch {
			case err != nil:
				return err
			case used:
				return badRequest("Expert is delegated to other experts")
			case v.status == api.Quarantined:
				return badRequest("The version is withheld by an administrator")
			case t.at.Sub(millis(v.createdAt)) > undoTime:
				return &Error{Status: badRequestStatus, Reason: "A version can be unpublished for 72 hours after it was published", Hint: "set its status to disabled"}
			}
		}
		return t.erase(by, v, why)
	})
	if err != nil {
		return err
	}
	return r.opts.Database.Forget(ctx)
}

// erase removes the tags and the content of a version. Its row and its leaves stay.
func (t *change) erase(by Actor, v version, why string) error {
	tags, err := t.tags(v.expertID)
	if err != nil {
		return err
	}
	for _, tag := range tags[v.id] {
		if tag != latest {
			if err := t.removeTag(by, v, tag); err != nil {
				return err
			}
		}
	}
	number, err := t.record(v.visibility, tlog.Leaf{Kind: tlog.Removed, Name: v.name, Version: v.version, Reason: why, Actor: by.logName()})
	if err != nil {
		return err
	}
	now := t.at.UnixMilli()
	for _, s := range []struct {
		query string
		args  []any
	}{
		{"UPDATE version_states SET status = $1, message = '', replaced_by = '', advisories = '', description = '', updated_at = $2, previous = $3 WHERE version_id = $4", []any{api.Unpublished, now, v.status, v.id}},
		{"UPDATE experts SET updated_at = $1 WHERE id = $2", []any{now, v.expertID}},
		{"INSERT INTO erased (digest, at) VALUES ($1, $2)", []any{v.digest, now}},
		{"DELETE FROM contents WHERE digest = $1", []any{v.digest}},
	} {
		if err := t.exec(s.query, s.args...); err != nil {
			return err
		}
	}
	if err := t.relist(v.expertID); err != nil {
		return err
	}
	return t.audit(by, "unpublish", v.name+"@"+v.version, why, number)
}

// checkVersion refuses what cannot be a version.
func checkVersion(text string) error {
	if !definition.IsVersion(text) {
		return invalid(fmt.Errorf("%q is not a version", text))
	}
	return nil
}
