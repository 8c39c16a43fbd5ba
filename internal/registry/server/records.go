package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A Record is a version with everything that the registry knows about it.
type Record struct {
	api.Version
	ID      string
	Content []byte // canonical text; nil if it is withheld or erased, or was not asked for
	// Description is that of the definition; empty if it is withheld or erased.
	Description string
	Owner       api.Organization
	OwnerSince  time.Time
	Visibility  string
	UpdatedAt   time.Time
	Delegates   []tlog.Delegate // what each delegate means, in the order of the definition
	Signature   string
	Log         string // origin
}

// recordOf returns a version with its content.
func (l *look) recordOf(v version) (Record, error) {
	all, err := l.recordsOf([]version{v}, true)
	if err != nil {
		return Record{}, err
	}
	return all[0], nil
}

// recordBatch is how many records are read at once.
const recordBatch = 200

// recordsOf returns versions in their order, by a few statements for many of them. Their contents are bounded
// in all.
func (l *look) recordsOf(versions []version, withContents bool) (all []Record, err error) {
	if withContents {
		if err := l.checkSize(versions, "ask for fewer Experts at once"); err != nil {
			return nil, err
		}
	}
	for some := range slices.Chunk(versions, recordBatch) {
		if all, err = l.appendRecords(all, some, withContents); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (l *look) appendRecords(all []Record, some []version, withContents bool) ([]Record, error) {
	var ids, experts, orgs, digests []string
	for _, v := range some {
		ids, experts, orgs, digests = append(ids, v.id), append(experts, v.expertID), append(orgs, v.orgID), append(digests, v.digest)
	}
	tags, err := l.tags(experts...)
	if err != nil {
		return nil, err
	}
	owners, since := map[string]api.Organization{}, map[string]time.Time{}
	in, args := among(orgs)
	err = l.each("SELECT id, name, type, created_at FROM organizations WHERE id"+in, args, func(scan func(...any) error) error {
		var o api.Organization
		var at int64
		err := scan(&o.ID, &o.Name, &o.Type, &at)
		owners[o.ID], since[o.ID] = o, millis(at)
		return err
	})
	if err != nil {
		return nil, err
	}
	contents := map[string][]byte{}
	if withContents {
		if contents, err = l.contents(digests); err != nil {
			return nil, err
		}
	}
	delegates := map[string][]tlog.Delegate{}
	in, args = among(ids)
	err = l.each("SELECT d.version_id, d.key, e.name, v.version, v.digest FROM delegations d JOIN versions v ON v.id = d.delegate_id JOIN experts e ON e.id = v.expert_id WHERE d.version_id"+in+" ORDER BY d.version_id, d.position", args, func(scan func(...any) error) error {
		var d tlog.Delegate
		var id, name, number string
		err := scan(&id, &d.Key, &name, &number, &d.Digest)
		d.Exact = name + "@" + number
		delegates[id] = append(delegates[id], d)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, v := range some {
		rec := Record{
			Version: describe(v, tags), ID: v.id, Owner: owners[v.orgID], OwnerSince: since[v.orgID], Visibility: v.visibility,
			UpdatedAt: millis(v.updatedAt), Delegates: delegates[v.id], Signature: v.signature, Log: v.log,
		}
		if v.status != api.Quarantined {
			rec.Description = v.description
		}
		if withContents && v.status != api.Unpublished && v.status != api.Quarantined {
			if rec.Content = contents[v.digest]; rec.Content == nil {
				return nil, fmt.Errorf("the content of %s@%s is missing", v.name, v.version)
			}
		}
		all = append(all, rec)
	}
	return all, nil
}

// contents returns the canonical texts with some digests.
func (l *look) contents(digests []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	in, args := among(digests)
	err := l.each("SELECT digest, bytes FROM contents WHERE digest"+in, args, func(scan func(...any) error) error {
		var digest string
		var text []byte
		err := scan(&digest, &text)
		all[digest] = text
		return err
	})
	return all, err
}

// checkSize refuses versions whose contents are too large together, before any of them is read.
func (l *look) checkSize(versions []version, hint string) error {
	size := int64(0)
	for some := range slices.Chunk(versions, recordBatch) {
		var digests []string
		for _, v := range some {
			digests = append(digests, v.digest)
		}
		in, args := among(digests)
		var part int64
		if _, err := l.one("SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM contents WHERE digest"+in, args, &part); err != nil {
			return err
		}
		size += part
	}
	if most := l.r.opts.MaxAnswer; size > most {
		return &Error{Status: tooLargeStatus, Reason: fmt.Sprintf("The definitions have %d bytes in all; one answer has at most %d", size, most), Hint: hint}
	}
	return nil
}

// among is the condition that a column has one of the values, each of which counts once.
func among(values []string) (condition string, args []any) {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	places := make([]string, len(values))
	for i, value := range values {
		places[i] = fmt.Sprintf("$%d", i+1)
		args = append(args, value)
	}
	return " IN (" + strings.Join(places, ", ") + ")", args
}
