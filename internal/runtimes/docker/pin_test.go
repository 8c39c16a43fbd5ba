package docker

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/perstack-go/perstack/internal/manifest"
)

var (
	someDigest  = "sha256:" + strings.Repeat("0a", 32)
	otherDigest = "sha256:" + strings.Repeat("1b", 32)
)

func TestReference(t *testing.T) {
	for _, test := range []struct {
		text string
		want reference
	}{
		{"node", reference{name: "node"}},
		{"node:24-slim", reference{name: "node", tag: "24-slim"}},
		{"node@" + someDigest, reference{name: "node", digest: someDigest}},
		{"node:24@" + someDigest, reference{name: "node", tag: "24", digest: someDigest}},
		{"registry.example:5000/team/node", reference{name: "registry.example:5000/team/node"}},
		{"registry.example:5000/team/node:24@" + someDigest, reference{name: "registry.example:5000/team/node", tag: "24", digest: someDigest}},
		{someDigest, reference{id: someDigest}},
	} {
		got, err := parseReference(test.text)
		if err != nil || got != test.want || got.String() != test.text || got.pinned() != strings.Contains(test.text, "sha256:") {
			t.Errorf("%s: %+v, %v", test.text, got, err)
		}
	}
	for _, text := range []string{
		"", "-node", "--privileged", "node:", "node:-x", "node@sha256:", "node@sha256:abc", "node@" + strings.ToUpper(someDigest), "node@" + someDigest + "0",
		"node@md5:" + strings.Repeat("0", 32), "sha256", "sha256:abc", "sha256:" + strings.Repeat("g", 64), someDigest + "@" + someDigest, someDigest + "0",
		"no de", "node\n", "node\x00", "node\x1b[2J", "../node", "a/../b", "/node", "node/", "a//b", "NODE", "http://node", "node?x=1", "node#x", "node%2e", "a@b@c",
	} {
		if got, err := parseReference(text); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
	if _, err := parsePinned("node:24"); !isPinError(err, false) {
		t.Errorf("not pinned: %v", err)
	}
}

func FuzzReference(f *testing.F) {
	for _, seed := range []string{"node:24", "a.example:1/b/c:d@" + someDigest, someDigest, "-x", "sha256:x", "a@", "a\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReference(text)
		if err != nil {
			return
		}
		if r.String() != text || strings.HasPrefix(text, "-") || strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) || c > unicode.MaxASCII }) {
			t.Errorf("%q is taken for %+v, which is %q", text, r, r.String())
		}
		if r.pinned() != manifest.ImagePinned(text) {
			t.Errorf("%q is pinned here, or there: %+v", text, r)
		}
		if r.pinned() {
			if again, err := parsePinned(r.content()); err != nil || again.digest != r.digest || again.id != r.id || again.name != r.name {
				t.Errorf("%q: its content is %+v, %v", text, again, err)
			}
		}
	})
}

func TestPlaces(t *testing.T) {
	mirrors := []string{"mirror.example", "other.example:5000/hub"}
	for _, test := range []struct {
		name    string
		mirrors []string
		want    string // or part of an error after !
	}{
		{"node:24", mirrors, "mirror.example/library/node:24 other.example:5000/hub/library/node:24 node:24"},
		{"team/node:24", mirrors[:1], "mirror.example/team/node:24 team/node:24"},
		{"node:24", nil, "node:24"},
		// Under the rest of its name a mirror may have somebody else's.
		{"registry.example/node:24", mirrors, "registry.example/node:24"},
		{"localhost/node:24", mirrors, "localhost/node:24"},
		{"node@" + someDigest, mirrors[:1], "mirror.example/library/node@" + someDigest + " node@" + someDigest},
		{someDigest, mirrors, ""},
		{"node:24", []string{"team"}, "!is not the address of a registry"},
		{"node:24", []string{"http://mirror.example"}, "!is not the address of a registry"},
		{"node:24", []string{"mirror.example/"}, "!is not the address of a registry"},
		{"node:24", []string{"-x.example"}, "!is not the address of a registry"},
		{"node:24", []string{""}, "!is not the address of a registry"},
	} {
		r, err := parseReference(test.name)
		if err != nil {
			t.Fatal(err)
		}
		places, err := r.places(Sources{Mirrors: test.mirrors})
		var got []string
		for _, p := range places {
			got = append(got, p.String())
		}
		if message, fails := strings.CutPrefix(test.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s %q: %v, %v", test.name, test.mirrors, got, err)
			}
		} else if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s %q: %v, %v", test.name, test.mirrors, got, err)
		}
	}
}

func TestDigestOfALocalImage(t *testing.T) {
	for _, test := range []struct {
		known []string
		name  string
		want  string
	}{
		{[]string{"node@" + someDigest}, "node:24", someDigest},
		{[]string{"mirror.example/library/node@" + someDigest}, "node:24", someDigest},
		{[]string{"registry.example/library/node@" + someDigest}, "node:24", ""}, // it was given this name here
		{[]string{"nodes@" + otherDigest, "node@" + someDigest}, "node", someDigest},
		{[]string{"other.example/team/node@" + someDigest}, "registry.example/team/node", ""},
		{[]string{"registry.example/team/node@" + someDigest}, "registry.example/team/node", someDigest},
		{[]string{"mynode@" + someDigest}, "node", ""},
		{[]string{"node:24"}, "node", ""},
		{[]string{"node@sha256:x\x1b"}, "node", ""},
		{nil, "node", ""},
	} {
		r, err := parseReference(test.name)
		if err != nil {
			t.Fatal(err)
		}
		places, err := r.places(Sources{Mirrors: []string{"mirror.example"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := digestOf(test.known, places); got != test.want {
			t.Errorf("%q of %s: %q", test.known, test.name, got)
		}
	}
}

// isPinError reports whether an error says that the lockfile has to be written again.
func isPinError(err error, stale bool) bool {
	unpinned, ok := errors.AsType[*PinError](err)
	return ok && unpinned.Stale == stale
}
