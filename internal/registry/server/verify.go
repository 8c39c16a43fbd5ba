package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/signature"
)

// A Report is what [Registry.Verify] found.
type Report struct {
	Logs, Leaves, Versions, Contents int64
	Problems                         []Problem
}

// A Problem is something that is damaged, or that contradicts the log.
type Problem struct {
	What    string // such as "leaf 5" or "content sha256:…"
	Message string
}

func (p Problem) String() string { return p.What + ": " + p.Message }

func (r *Report) add(what, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{what, fmt.Sprintf(format, args...)})
}

// Verify computes every digest and every hash again, checks all signatures of the log, and compares the tables
// with what the log says. It reports everything that is damaged. An error says that it could not finish.
func (r *Registry) Verify(ctx context.Context, verifier note.Verifier) (*Report, error) {
	report := &Report{}
	err := r.view(ctx, func(l *look) error {
		v := &verification{look: l, report: report, verifier: verifier}
		return v.all()
	})
	return report, err
}

// A verification is one run of Verify.
type verification struct {
	*look
	report   *Report
	verifier note.Verifier
	sealed   map[int64][]byte // what the leaves of private Experts hide, by their number
}

func (v *verification) all() error {
	logs := []string{}
	err := v.each("SELECT log FROM log_leaves UNION SELECT log FROM log_heads UNION SELECT log FROM log_hashes UNION SELECT log FROM versions", nil, func(scan func(...any) error) error {
		var log string
		err := scan(&log)
		logs = append(logs, log)
		return err
	})
	if err != nil {
		return err
	}
	told := newHistory()
	for _, log := range logs {
		v.report.Logs++
		if err := v.log(log, told); err != nil {
			return err
		}
	}
	if err := v.cosignatures(); err != nil {
		return err
	}
	versions, err := v.versionsWhere("")
	if err != nil {
		return err
	}
	if err := v.compare(told, versions); err != nil {
		return err
	}
	if err := v.contents(versions); err != nil {
		return err
	}
	return v.listings(versions)
}

// contents computes the digests of all contents, and finds those that are missing or belong to nothing.
func (v *verification) contents(versions []version) error {
	owner := map[string]version{}
	for _, one := range versions {
		owner[one.digest] = one
	}
	found := map[string]bool{}
	err := v.each("SELECT digest, bytes FROM contents", nil, func(scan func(...any) error) error {
		var digest string
		var text []byte
		if err := scan(&digest, &text); err != nil {
			return err
		}
		v.report.Contents++
		found[digest] = true
		what := "content " + digest
		if got := definition.Digest(text); got != digest {
			v.report.add(what, "it has the digest %s", got)
			return nil
		}
		one, ok := owner[digest]
		switch d, err := definition.Parse(text); {
		case !ok:
			v.report.add(what, "no version has it")
		case err != nil:
			v.report.add(what, "%v", err)
		case d.Name != one.name || d.Version != one.version:
			v.report.add(what, "it is the definition of %s, and stored for %s@%s", d.Key(), one.name, one.version)
		case one.status == api.Unpublished:
			v.report.add(what, "it belongs to %s@%s, which was unpublished", one.name, one.version)
		case d.Description != one.description:
			v.report.add("version "+d.Key(), "it is described as %q, and its definition says %q", one.description, d.Description)
		case one.signer != signerOf(one.signature, text):
			v.report.add("version "+d.Key(), "its signature is not by %q", one.signer)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, one := range versions {
		if !found[one.digest] && one.status != api.Unpublished {
			v.report.add("content "+one.digest, "it is missing; %s@%s needs it", one.name, one.version)
		}
	}
	return nil
}

// signerOf returns the fingerprint of the key that made a signature; "" if there is none, or it is not good.
func signerOf(armored string, text []byte) string {
	if armored == "" {
		return ""
	}
	key, err := signature.Verify(armored, text)
	if err != nil {
		return ""
	}
	return signature.Fingerprint(key)
}

// listings compares what lists show with what follows from the versions.
func (v *verification) listings(versions []version) error {
	byExpert := map[string][]version{}
	for _, one := range versions {
		byExpert[one.expertID] = append(byExpert[one.expertID], one)
	}
	type listed struct {
		versionID, keywords string
		row                 listing
	}
	shown := map[string]listed{}
	err := v.each("SELECT expert_id, version_id, version_order, description, keywords, text FROM listings", nil, func(scan func(...any) error) error {
		var expertID string
		var l listed
		err := scan(&expertID, &l.versionID, &l.row.order, &l.row.description, &l.keywords, &l.row.text)
		shown[expertID] = l
		return err
	})
	if err != nil {
		return err
	}
	for _, expertID := range slices.Sorted(maps.Keys(byExpert)) {
		all := byExpert[expertID]
		sortVersions(all)
		var want version
		last := v.r.latestOf(all)
		for _, one := range all {
			if one.version == last {
				want = one
			}
		}
		what, has := "list entry of "+all[0].name, shown[expertID]
		if has.versionID != want.id {
			v.report.add(what, "it is not that of the latest version, %q", last)
			continue
		}
		if want.id == "" {
			continue
		}
		row, err := v.listingOf(want)
		if err != nil {
			continue // the content is damaged, which is reported
		}
		if row.order != has.row.order || row.description != has.row.description || lines(row.keywords) != has.keywords || row.text != has.row.text {
			v.report.add(what, "it does not say what the definition of %s says", last)
		}
	}
	return nil
}
