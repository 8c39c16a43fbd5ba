package oci

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/definition"
)

// A fake is a container registry in memory, which can lie.
type fake struct {
	*httptest.Server
	host      string
	referrers bool // it has the API for them

	lock      sync.Mutex
	blobs     map[string][]byte
	manifests map[string][]byte // by repository, a colon, and tag or digest
	// lie answers a request in the registry's place, if it returns true.
	lie func(w http.ResponseWriter, r *http.Request) bool
}

func newFake(t *testing.T, referrers bool) *fake {
	t.Helper()
	f := &fake{referrers: referrers, blobs: map[string][]byte{}, manifests: map[string][]byte{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	f.host = strings.TrimPrefix(f.URL, "http://")
	return f
}

func (f *fake) setLie(lie func(w http.ResponseWriter, r *http.Request) bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.lie = lie
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.lock.Lock()
	lie := f.lie
	f.lock.Unlock()
	if lie != nil && lie(w, r) {
		return
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/v2/")
	for _, kind := range []string{"/manifests/", "/blobs/uploads/", "/blobs/", "/referrers/"} {
		if repository, name, found := strings.Cut(path, kind); ok && found {
			f.serve(w, r, repository, strings.Trim(kind, "/"), name)
			return
		}
	}
	http.NotFound(w, r)
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request, repository, kind, name string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case kind == "blobs/uploads" && r.Method == http.MethodPost:
		w.Header().Set("Location", "/v2/"+repository+"/blobs/uploads/1?state=x")
		w.WriteHeader(http.StatusAccepted)
	case kind == "blobs/uploads" && r.Method == http.MethodPut:
		if r.URL.Query().Get("digest") != definition.Digest(body) || r.URL.Query().Get("state") != "x" {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		f.blobs[definition.Digest(body)] = body
		w.WriteHeader(http.StatusCreated)
	case kind == "manifests" && r.Method == http.MethodPut:
		f.manifests[repository+":"+name], f.manifests[repository+":"+definition.Digest(body)] = body, body
		var m manifest
		if json.Unmarshal(body, &m) == nil && m.Subject != nil && f.referrers {
			w.Header().Set("OCI-Subject", m.Subject.Digest)
		}
		w.WriteHeader(http.StatusCreated)
	case kind == "manifests":
		found, ok := f.manifests[repository+":"+name]
		send(w, r, found, ok, mediaTypeOf(found))
	case kind == "blobs":
		found, ok := f.blobs[name]
		send(w, r, found, ok, "application/octet-stream")
	case kind == "referrers" && f.referrers:
		send(w, r, f.list(repository, name), true, indexType)
	default:
		http.NotFound(w, r)
	}
}

func send(w http.ResponseWriter, r *http.Request, text []byte, ok bool, mediaType string) {
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown"}]}`)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	w.Header().Set("Docker-Content-Digest", definition.Digest(text))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
}

func mediaTypeOf(text []byte) string {
	var m struct {
		MediaType string `json:"mediaType"`
	}
	_ = json.Unmarshal(text, &m) // a lie has none
	return m.MediaType
}

// list is the list of what refers to a manifest.
func (f *fake) list(repository, subject string) []byte {
	all := index{SchemaVersion: 2, MediaType: indexType}
	for _, key := range slices.Sorted(maps.Keys(f.manifests)) {
		var m manifest
		text := f.manifests[key]
		if json.Unmarshal(text, &m) == nil && m.Subject != nil && m.Subject.Digest == subject && key == repository+":"+definition.Digest(text) {
			d := describe(m.MediaType, text)
			d.ArtifactType = m.ArtifactType
			one, err := json.Marshal(d)
			if err != nil {
				panic(err)
			}
			all.Manifests = append(all.Manifests, one)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return text
}

// put stores a manifest of these parts, and returns its digest.
func (f *fake) put(repository, tag string, layer []byte, change func(*manifest)) string {
	f.lock.Lock()
	defer f.lock.Unlock()
	m := manifest{
		SchemaVersion: 2, MediaType: manifestType, ArtifactType: ExpertType, Config: describe(emptyType, emptyConfig),
		Layers: []descriptor{describe(ExpertType, layer)},
	}
	if change != nil {
		change(&m)
	}
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	f.blobs[definition.Digest(layer)] = layer
	f.manifests[repository+":"+tag], f.manifests[repository+":"+definition.Digest(text)] = text, text
	return definition.Digest(text)
}
