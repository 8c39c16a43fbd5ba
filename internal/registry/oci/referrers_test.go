package oci

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// The list under a tag keeps what other programs wrote into it, and has each signature once.
func TestTaggedReferrers(t *testing.T) {
	f := newFake(t, false)
	s, _ := newSource(t, nil)
	name := "oci://" + f.host + "/acme/a"
	d := registrytest.Minimal("a@1.0.0")
	p := pushed(t, s, name, d, "")
	tag := "acme/a:" + strings.Replace(p.Ref.Digest, ":", "-", 1)
	const other = `{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha512:00","size":1,"artifactType":"text/sbom","platform":{"os":"linux"}}`
	f.manifests[tag] = []byte(`{"schemaVersion":2,"mediaType":"` + indexType + `","manifests":[` + other + `],"annotations":{"kept":"yes"}}`)
	armored := sign(t, signer(t, 'g'), d)
	pushed(t, s, name, d, armored)
	once := string(f.manifests[tag])
	pushed(t, s, name, d, armored)
	if again := string(f.manifests[tag]); again != once {
		t.Errorf("%s became %s", once, again)
	}
	listed, err := parseIndex([]byte(once))
	if err != nil || len(listed.Manifests) != 2 || string(listed.Manifests[0]) != other || string(listed.Others) != `{"annotations":{"kept":"yes"}}` {
		t.Errorf("%v: %s", err, once)
	}
	if of := listed.of(SignatureType); len(of) != 1 || f.manifests["acme/a:"+of[0].Digest] == nil {
		t.Errorf("%+v", of)
	}
	fresh, _ := newSource(t, nil)
	found, err := fresh.Resolve(t.Context(), name+":1.0.0")
	if err != nil || found.Experts[p.Ref.Exact()].Signer != signature.Fingerprint(signer(t, 'g').PublicKey()) {
		t.Errorf("%v, %v", found, err)
	}

	// What is no list is not replaced by one, and has no signatures.
	for _, text := range []string{"<html>", `{"schemaVersion":2,"mediaType":"` + manifestType + `","layers":[]}`, `{"schemaVersion":2,"config":{}}`} {
		f.manifests[tag] = []byte(text)
		if _, err := s.Push(t.Context(), name, d, armored); client.KindOf(err) != client.Refused || string(f.manifests[tag]) != text {
			t.Errorf("%s: %v", text, err)
		}
		fresh, _ := newSource(t, nil)
		if found, err := fresh.Resolve(t.Context(), name+":1.0.0"); err != nil || found.Experts[p.Ref.Exact()].Signer != "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	// A list that is full is not made longer than clients read.
	full := `{"schemaVersion":2,"mediaType":"` + indexType + `","manifests":[],"x":"`
	f.manifests[tag] = []byte(full + strings.Repeat("x", maxManifest-len(full)-2) + `"}`)
	if _, err := s.Push(t.Context(), name, d, armored); client.KindOf(err) != client.Refused || !strings.Contains(err.Error(), "more than 262144") {
		t.Error(err)
	}
}

// A registry with the API for lists gets none under a tag, whether it says so when a manifest is stored or not.
func TestReferrersAPI(t *testing.T) {
	for _, silent := range []bool{false, true} {
		f := newFake(t, true)
		if silent {
			f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/manifests/") {
					return false
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					panic(err)
				}
				f.lock.Lock()
				defer f.lock.Unlock()
				_, name, _ := strings.Cut(r.URL.Path, "/manifests/")
				f.manifests["acme/a:"+name], f.manifests["acme/a:"+definition.Digest(body)] = body, body
				w.WriteHeader(http.StatusCreated)
				return true
			})
		}
		s, _ := newSource(t, nil)
		d := registrytest.Minimal("a@1.0.0")
		p := pushed(t, s, "oci://"+f.host+"/acme/a", d, sign(t, signer(t, 'g'), d))
		found, err := s.Resolve(t.Context(), p.Ref.String())
		if err != nil || found.Experts[p.Ref.Exact()].Signer == "" {
			t.Errorf("%v, %v", found, err)
		}
		for key := range f.manifests {
			if strings.Contains(key, "sha256-") {
				t.Errorf("the registry has %s", key)
			}
		}
	}
}

// Lists have pages, of the same registry.
func TestReferrersPages(t *testing.T) {
	f := newFake(t, true)
	s, _ := newSource(t, nil)
	d := registrytest.Minimal("a@1.0.0")
	p := pushed(t, s, "oci://"+f.host+"/acme/a", d, sign(t, signer(t, 'g'), d))
	next := ""
	f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/referrers/") || r.URL.Query().Get("page") == "2" {
			return false
		}
		w.Header().Set("Content-Type", indexType+"; charset=utf-8")
		w.Header().Set("Link", next)
		_, _ = io.WriteString(w, `{"schemaVersion":2,"mediaType":"`+indexType+`","manifests":[{},1,{"artifactType":"`+SignatureType+`"}]}`)
		return true
	})
	for _, test := range []struct {
		next   string
		kind   client.Kind
		signed bool
	}{
		{"", "", false},
		{"</v2/acme/a/referrers/" + p.Ref.Digest + "?page=2>; rel=\"next\"", "", true},
		{"<?page=2>;rel=next", "", true},
		{"<" + f.URL + "/v2/acme/a/referrers/" + p.Ref.Digest + "?page=2>; rel=\"next\"", "", true},
		{"<https://evil.example/x>; rel=\"next\"", client.Refused, false},
		{"<http://[x>; rel=\"next\"", client.WrongAnswer, false},
	} {
		next = test.next
		s, _ := newSource(t, nil)
		found, err := s.Resolve(t.Context(), p.Ref.String())
		if client.KindOf(err) != test.kind || err == nil && (found.Experts[p.Ref.Exact()].Signer != "") != test.signed {
			t.Errorf("%s: %v, %v", next, found, err)
		}
	}
}

func TestNextPage(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "x": "", "<a>": "", `<a>; rel="prev"`: "", "<a": "",
		`<a>; rel="next"`: "a", "<a>;REL=next": "a", `<a,b>; title="x"; rel="next", <c>`: "a,b", `<a>; rel="prev", <b>; rel="next"`: "b",
	} {
		if got := nextPage([]string{text}); got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

func FuzzIndex(f *testing.F) {
	d := describe(manifestType, []byte("{}"))
	d.ArtifactType = SignatureType
	text, _, err := index{}.with(d)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schemaVersion":2,"manifests":[null,{"size":-1}],"x":{"manifests":[]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		listed, err := parseIndex(text)
		if err != nil {
			return
		}
		for _, one := range listed.of(SignatureType) {
			if !definition.IsDigest(one.Digest) || one.Size <= 0 || one.Size > maxManifest {
				t.Errorf("%+v", one)
			}
		}
		longer, added, err := listed.with(d)
		if err != nil || !added {
			return
		}
		again, err := parseIndex(longer)
		if err != nil || len(again.Manifests) != len(listed.Manifests)+1 {
			t.Fatalf("%v: %s", err, longer)
		}
		last := descriptor{}
		if err := json.Unmarshal(again.Manifests[len(listed.Manifests)], &last); err != nil || last.Digest != d.Digest {
			t.Errorf("%v: %s", err, longer)
		}
		if _, added, err := again.with(d); added || err != nil {
			t.Errorf("added twice: %v", err)
		}
	})
}
