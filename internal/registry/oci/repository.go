package oci

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/registry/definition"
)

// A repository is the client of one repository. It speaks the protocol of the OCI distribution specification,
// version 1.1, as far as that is needed here.
type repository struct {
	source *Source
	name   string
	guard  *transport
	web    *http.Client
}

// repository returns the client of a repository. It makes no request.
func (s *Source) repository(ref expert.OCI) *repository {
	guard := &transport{source: s, base: s.options.HTTP.Transport, host: ref.Host, origin: origin(ref.Host)}
	staying := *s.options.HTTP
	staying.Transport, staying.CheckRedirect, staying.Jar, staying.Timeout = guard, guard.checkRedirect, nil, 0
	return &repository{source: s, name: ref.Repository, guard: guard, web: &staying}
}

// A request is one to the registry, or to the server that gives its tokens.
type request struct {
	method        string
	to            *url.URL
	authorization string
	accept        string
	mediaType     string // of the body
	body          []byte
}

// at is the address of something in the repository.
func (r *repository) at(kind, name string) *url.URL {
	to, err := url.Parse(r.guard.origin + "/v2/" + r.name + "/" + kind + "/" + name)
	if err != nil { // references are checked, so it is an address
		return &url.URL{}
	}
	return to
}

// send sends a request once.
func (r *repository) send(ctx context.Context, q request) (*http.Response, error) {
	made, err := http.NewRequestWithContext(ctx, q.method, q.to.String(), bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Authorization": q.authorization, "Accept": q.accept, "Content-Type": q.mediaType, "User-Agent": r.source.options.UserAgent,
	} {
		if value != "" {
			made.Header.Set(name, value)
		}
	}
	return r.web.Do(made)
}

// do sends a request to the registry, and once more with what it asks for. An answer with another status than
// the wanted one is a [refusal].
func (r *repository) do(ctx context.Context, q request, wanted int) (*http.Response, error) {
	if to := netaddr.Origin(q.to); to != r.guard.origin { // an address that the registry has named
		return nil, &refusedError{to, "which is another origin"}
	}
	p := permit{origin: r.guard.origin, repository: r.name, write: q.method != http.MethodGet}
	q.authorization = r.source.authorization(p)
	for last := false; ; last = true {
		response, err := r.send(ctx, q)
		if err != nil {
			return nil, err
		}
		if last && response.StatusCode != http.StatusUnauthorized {
			r.source.remember(p, q.authorization)
		}
		if response.StatusCode == wanted {
			return response, nil
		}
		refused := readRefusal(response)
		if last || response.StatusCode != http.StatusUnauthorized {
			return nil, refused
		}
		authorization, err := r.authorize(ctx, parseChallenges(response.Header.Values("WWW-Authenticate")), p.write)
		if err != nil {
			return nil, err
		}
		if authorization == "" || authorization == q.authorization {
			return nil, refused
		}
		q.authorization = authorization
	}
}

// manifest fetches a manifest by its tag, or by its digest, which is then checked.
func (r *repository) manifest(ctx context.Context, name string) ([]byte, error) {
	response, err := r.do(ctx, request{method: http.MethodGet, to: r.at("manifests", name), accept: manifestType + ", " + indexType}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.ContentLength > maxManifest {
		return nil, &answerError{fmt.Sprintf("its manifest has %d bytes, more than %d", response.ContentLength, maxManifest)}
	}
	text, err := readMost(response.Body, maxManifest)
	if err != nil {
		return nil, err
	}
	if got := definition.Digest(text); definition.IsDigest(name) && got != name {
		return nil, &answerError{"the registry shows a manifest with the digest " + got}
	}
	return text, nil
}

// blob fetches a layer, and checks it.
func (r *repository) blob(ctx context.Context, d descriptor) ([]byte, error) {
	response, err := r.do(ctx, request{method: http.MethodGet, to: r.at("blobs", d.Digest)}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := readAll(response.Body, d.Size)
	if err != nil {
		return nil, err
	}
	if got := definition.Digest(text); got != d.Digest {
		return nil, &answerError{fmt.Sprintf("its content should have the digest %s, and has %s", d.Digest, got)}
	}
	return text, nil
}

// putManifest stores a manifest under a tag or under its digest. It returns the digest of the subject that the
// registry lists it for; empty if it has no such lists.
func (r *repository) putManifest(ctx context.Context, mediaType, name string, text []byte) (subject string, err error) {
	response, err := r.do(ctx, request{method: http.MethodPut, to: r.at("manifests", name), mediaType: mediaType, body: text}, http.StatusCreated)
	if err != nil {
		return "", err
	}
	return response.Header.Get("OCI-Subject"), response.Body.Close()
}

// putBlob stores a layer: the registry says where, then it is sent there.
func (r *repository) putBlob(ctx context.Context, text []byte) error {
	start := r.at("blobs", "uploads/")
	response, err := r.do(ctx, request{method: http.MethodPost, to: start}, http.StatusAccepted)
	if err != nil {
		return err
	}
	response.Body.Close()
	to, err := start.Parse(response.Header.Get("Location"))
	if err != nil || response.Header.Get("Location") == "" {
		return &answerError{"the registry does not say where a layer goes"}
	}
	if to.RawQuery != "" { // it is the registry's own, and stays as it is
		to.RawQuery += "&"
	}
	to.RawQuery += "digest=" + url.QueryEscape(definition.Digest(text))
	response, err = r.do(ctx, request{method: http.MethodPut, to: to, mediaType: "application/octet-stream", body: text}, http.StatusCreated)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// readMost reads a text of at most this size.
func readMost(in io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		err = errTooLong(most)
	}
	return text, err
}

// readAll reads a text of exactly this size.
func readAll(in io.Reader, size int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, size+1))
	switch n := int64(len(text)); {
	case err != nil:
		return nil, err
	case n > size:
		return nil, &answerError{fmt.Sprintf("it is longer than the %d bytes that were announced", size)}
	case n < size:
		return nil, &answerError{fmt.Sprintf("it has %d bytes of the %d that were announced", n, size)}
	}
	return text, nil
}
