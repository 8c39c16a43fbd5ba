package consent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
)

// A lockfile chooses the code of the packages of a published Expert, so an answer is for what it pins.
func TestPublishedPins(t *testing.T) {
	skill := &expert.Skill{Name: "web", Type: expert.StdioSkill, Command: "npx", PackageName: "web-mcp@1.0.0"}
	reached := &expert.Expert{Key: "@acme/b@1.0.0", Name: "@acme/b", Skills: []*expert.Skill{skill}}
	other := &expert.Expert{Key: "own", Name: "own", Skills: []*expert.Skill{{Name: "web", Type: expert.StdioSkill, Command: "npx", PackageName: "web-mcp@1.0.0"}}}
	list := func(tree, elsewhere string) consent.Request {
		t.Helper()
		p := consent.Project{
			Config: manifest.Empty(t.TempDir()), Experts: []*expert.Expert{reached, other},
			Published: []consent.Published{{Key: "@acme/a@1.0.0", Registry: "https://r.example", Digests: []string{"@acme/a@1.0.0 sha256:1", "@acme/b@1.0.0 sha256:2"}, Card: []string{"packages: npx web-mcp@1.0.0"}}},
		}
		if tree != "" {
			entry := func(tree string) []*lockfile.Skill {
				return []*lockfile.Skill{{Name: "web", Digest: skill.Connection(), Package: &lockfile.Package{Manager: "npx", Name: "web-mcp", Version: "1.0.0", Integrity: "sha512-x", Tree: tree}}}
			}
			p.Lock = &lockfile.Lock{Experts: []*lockfile.Expert{{Key: reached.Key, Skills: entry(tree)}, {Key: "own", Skills: entry(elsewhere)}}}
		}
		all := consent.List(p)
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		return all[0]
	}
	loose, good := list("", ""), list("{}", "{}")
	if want := []string{"packages: npx web-mcp@1.0.0"}; !cmp.Equal(loose.More, want) {
		t.Errorf("%q", loose.More)
	}
	if len(good.More) != 2 || !strings.HasPrefix(good.More[1], "pinned by perstack.lock: web-mcp@1.0.0 and all that it needs, ") {
		t.Errorf("%q", good.More)
	}
	evil := list(`{"evil":{}}`, "{}")
	if evil.Digest() == good.Digest() || evil.More[1] == good.More[1] || loose.Digest() == good.Digest() {
		t.Error("another lockfile is not asked about")
	}
	if good.Unpinned().Digest() != loose.Digest() {
		t.Error("an answer before the lockfile was made is not kept for it")
	}
	if list("{}", `{"other":{}}`).Digest() != good.Digest() {
		t.Error("asked again because of an Expert of the file")
	}
}

// An older version than before needs more than a general yes.
func TestPublishedOlder(t *testing.T) {
	one := consent.Published{Key: "@acme/a@1.0.0", Registry: "https://r.example", Digests: []string{"@acme/a@1.0.0 sha256:1"}, Newer: "1.1.0"}
	list := consent.List(consent.Project{Config: manifest.Empty(t.TempDir()), Published: []consent.Published{one}})
	if len(list) != 2 || list[0].Explicit == list[1].Explicit {
		t.Fatalf("%+v", list)
	}
	for _, r := range list {
		if r.Explicit && (r.Text != "@acme/a@1.0.0 is the newest version by https://r.example, which had 1.1.0 before" || r.Value != one.Key) {
			t.Errorf("%+v", r)
		}
	}
}

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
