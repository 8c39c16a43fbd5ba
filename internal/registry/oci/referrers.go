package oci

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/wording"
)

// An index is a list of manifests. What other programs wrote into it stays as it is.
type index struct {
	SchemaVersion int              `json:"schemaVersion"`
	MediaType     string           `json:"mediaType"`
	Manifests     []jsontext.Value `json:"manifests"`
	Others        jsontext.Value   `json:",embed"`
}

// parseIndex reads a list of manifests.
func parseIndex(text []byte) (index, error) {
	var all index
	if err := json.Unmarshal(text, &all); err != nil {
		return all, &answerError{"the list of signatures cannot be read: " + shown(err.Error())}
	}
	if all.MediaType != indexType && (all.MediaType != "" || all.Manifests == nil) {
		return all, &answerError{fmt.Sprintf("the list of signatures has the type %s, not %s", wording.Quote(all.MediaType), indexType)}
	}
	return all, nil
}

// of returns the manifests of one type. What cannot be one is left out: other programs can have put it there.
func (x index) of(artifactType string) (found []descriptor) {
	for _, text := range x.Manifests {
		var d descriptor
		if json.Unmarshal(text, &d) == nil && d.ArtifactType == artifactType && d.MediaType == manifestType &&
			definition.IsDigest(d.Digest) && d.Size > 0 && d.Size <= maxManifest {
			found = append(found, d)
		}
	}
	return found
}

// with returns the text of the list with one more manifest, and false if it has that already.
func (x index) with(d descriptor) (text []byte, added bool, err error) {
	for _, text := range x.Manifests {
		var one descriptor
		if json.Unmarshal(text, &one) == nil && one.Digest == d.Digest {
			return nil, false, nil
		}
	}
	one, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return nil, false, err
	}
	x.SchemaVersion, x.MediaType, x.Manifests = 2, indexType, append(slices.Clone(x.Manifests), one)
	text, err = json.Marshal(x, json.Deterministic(true))
	if err == nil && len(text) > maxManifest { // no client would read it
		err = &answerError{fmt.Sprintf("the list of signatures would have more than %d bytes", maxManifest)}
	}
	return text, true, err
}

// referrersTag is the tag of the list of what refers to a manifest, where a registry has no API for it.
func referrersTag(digest string) string { return strings.Replace(digest, ":", "-", 1) }

// referrers lists manifests of one type that refer to a manifest, as many as are looked at.
func (r *repository) referrers(ctx context.Context, digest, artifactType string, most int) (found []descriptor, err error) {
	to := r.at("referrers", digest)
	to.RawQuery = "artifactType=" + url.QueryEscape(artifactType) // a registry need not know it
	for page := 1; to != nil && len(found) < most; page++ {
		if page > maxPages {
			return nil, &answerError{fmt.Sprintf("the list of signatures has more than %d pages", maxPages)}
		}
		listed, next, ok, err := r.page(ctx, to)
		if err != nil {
			return nil, err
		}
		if !ok && page == 1 {
			text, err := r.taggedReferrers(ctx, digest)
			if err != nil {
				return nil, err
			}
			if listed, err = parseIndex(text); err != nil { // the specification says: there are none
				r.source.options.Log.DebugContext(ctx, "list of signatures left out", "repository", r.name, "manifest", digest, "error", err)
				return nil, nil
			}
		}
		found = append(found, listed.of(artifactType)...)
		to = next
	}
	return found[:min(len(found), most)], nil
}

// page asks the API for one page of a list, and returns where the next one is. It is not ok if the registry has
// no such API: it knows nothing at the address, or answers with something else.
func (r *repository) page(ctx context.Context, at *url.URL) (listed index, next *url.URL, ok bool, err error) {
	response, err := r.do(ctx, request{method: http.MethodGet, to: at, accept: indexType}, http.StatusOK)
	if isNotFound(err) {
		return listed, nil, false, nil
	}
	if err != nil {
		return listed, nil, false, err
	}
	defer response.Body.Close()
	if mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || mediaType != indexType {
		return listed, nil, false, nil
	}
	text, err := readMost(response.Body, maxManifest)
	if err != nil {
		return listed, nil, false, err
	}
	if listed, err = parseIndex(text); err != nil {
		return listed, nil, false, err
	}
	if link := nextPage(response.Header.Values("Link")); link != "" {
		if next, err = at.Parse(link); err != nil {
			return listed, nil, false, &answerError{"the next page of the list of signatures has no address"}
		}
	}
	return listed, next, true, nil
}

// nextPage returns the address of the next page, as RFC 8288 writes it; empty if there is none.
func nextPage(values []string) string {
	for _, value := range values {
		for {
			_, after, ok := strings.Cut(value, "<")
			if !ok {
				break
			}
			address, rest, _ := strings.Cut(after, ">")
			parameters, _, _ := strings.Cut(rest, "<")
			for parameter := range strings.FieldsFuncSeq(parameters, func(c rune) bool { return c == ';' || c == ',' || c == ' ' }) {
				if strings.EqualFold(parameter, `rel="next"`) || strings.EqualFold(parameter, "rel=next") {
					return address
				}
			}
			value = rest
		}
	}
	return ""
}

// taggedReferrers fetches the list that clients keep under a tag. Without one, it is empty.
func (r *repository) taggedReferrers(ctx context.Context, digest string) ([]byte, error) {
	text, err := r.manifest(ctx, referrersTag(digest))
	if isNotFound(err) {
		return []byte(`{"manifests":[]}`), nil
	}
	return text, err
}

// putReferrer stores a manifest that refers to another one. A registry without an API for lists of them gets the
// list under a tag.
func (r *repository) putReferrer(ctx context.Context, artifactType string, subject descriptor, text []byte) error {
	described := describe(manifestType, text)
	listed, err := r.putManifest(ctx, manifestType, described.Digest, text)
	if err != nil || listed == subject.Digest {
		return err
	}
	if _, _, ok, err := r.page(ctx, r.at("referrers", subject.Digest)); ok || err != nil {
		return err
	}
	old, err := r.taggedReferrers(ctx, subject.Digest)
	if err != nil {
		return err
	}
	all, err := parseIndex(old)
	if err != nil {
		return err
	}
	described.ArtifactType = artifactType // the manifest has no annotations, which would be in the list, too
	list, added, err := all.with(described)
	if err != nil || !added {
		return err
	}
	_, err = r.putManifest(ctx, indexType, referrersTag(subject.Digest), list)
	return err
}
