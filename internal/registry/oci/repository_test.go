package oci

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

func TestOrigin(t *testing.T) {
	for host, want := range map[string]string{
		"registry.example": "https://registry.example", "registry.example:443": "https://registry.example", "registry.example:5000": "https://registry.example:5000",
		"docker.io": "https://registry-1.docker.io", "127.0.0.1:5000": "http://127.0.0.1:5000", "localhost": "http://localhost",
	} {
		if got := Origin(expert.OCI{Host: host}); got != want {
			t.Errorf("%s: %s, not %s", host, got, want)
		}
	}
}

// A registry that takes no new repository says why.
func TestPushRefused(t *testing.T) {
	f := newFake(t, true)
	f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors":[{"code":"NAME_UNKNOWN","message":"no such project"}]}`)
		return true
	})
	s, _ := newSource(t, nil)
	_, err := s.Push(t.Context(), "oci://"+f.host+"/acme/a", registrytest.Minimal("a@1.0.0"), "")
	if client.KindOf(err) != client.NotFound || !strings.Contains(err.Error(), "answered 404: NAME_UNKNOWN no such project") {
		t.Error(err)
	}
}

// A registry says where a layer goes: to itself.
func TestUploadLocation(t *testing.T) {
	f := newFake(t, true)
	for _, test := range []struct {
		name, location string
		kind           client.Kind
		want           string
	}{
		{"relative", "1?state=x", "", ""},
		{"absolute", f.URL + "/v2/acme/a/blobs/uploads/1?state=x", "", ""},
		{"none", "", client.Refused, "does not say where"},
		{"no address", "http://[x", client.Refused, "does not say where"},
		{"elsewhere", "https://evil.example/x", client.Refused, "another origin"},
		{"another port", "http://127.0.0.1:1/x", client.Refused, "another origin"},
	} {
		f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			w.Header()["Location"] = []string{test.location}
			w.WriteHeader(http.StatusAccepted)
			return true
		})
		s, _ := newSource(t, nil)
		_, err := s.Push(t.Context(), "oci://"+f.host+"/acme/"+strings.ReplaceAll(test.name, " ", "-"), registrytest.Minimal("a@1.0.0"), "")
		if client.KindOf(err) != test.kind || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
