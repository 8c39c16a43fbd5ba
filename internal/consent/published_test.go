package consent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
)

// An answer is for exactly the definitions that the user saw what they can do of.
func TestPublishedRequests(t *testing.T) {
	first := consent.Published{
		Key: "@acme/a@1.0.0", Registry: "https://r.example", Origin: "sha256:1, entry 2 of its log, not signed",
		Digests: []string{"@acme/a@1.0.0 sha256:1", "@acme/b@1.0.0 sha256:2"}, Card: []string{"packages: npx x"},
	}
	request := func(p consent.Published) consent.Request {
		t.Helper()
		list := consent.List(consent.Project{Config: manifest.Empty(t.TempDir()), Published: []consent.Published{p}})
		if len(list) != 1 || list[0].Kind != manifest.RequestPublished || list[0].Explicit {
			t.Fatalf("%+v", list)
		}
		return list[0]
	}
	asked := request(first)
	if asked.Text != "@acme/a@1.0.0 of https://r.example (sha256:1, entry 2 of its log, not signed)" || !cmp.Equal(asked.More, first.Card) {
		t.Errorf("%+v", asked)
	}
	same, upgrade, delegate, elsewhere := first, first, first, first
	same.Digests = []string{first.Digests[1], first.Digests[0]}
	same.Card, same.Before = nil, "@acme/a@0.9.0"
	if request(same).Digest() != asked.Digest() {
		t.Error("asked again about the same definitions")
	}
	if text := request(same).Text; text != asked.Text+" instead of @acme/a@0.9.0; it can do the same" {
		t.Error(text)
	}
	upgrade.Key, upgrade.Before = "@acme/a@1.1.0", first.Key
	delegate.Digests = []string{first.Digests[0], "@acme/b@1.0.0 sha256:3"}
	elsewhere.Registry = "https://other.example"
	for name, other := range map[string]consent.Published{"upgrade": upgrade, "delegate": delegate, "registry": elsewhere} {
		if request(other).Digest() == asked.Digest() {
			t.Errorf("%s: not asked again", name)
		}
	}
}
