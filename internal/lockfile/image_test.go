package lockfile

import (
	"strings"
	"testing"
)

var someDigest = "sha256:" + strings.Repeat("ab", 32)

// A lock that would have another image run than the file names, or that pins nothing, is
// not one that install has written.
func TestLockedImages(t *testing.T) {
	const head = "version='1'\ngeneratedAt=1\nconfigPath='a'\n"
	image := func(name, pinned string) string { return "[[images]]\nname='" + name + "'\npinned='" + pinned + "'\n" }
	for text, want := range map[string]string{
		image("node:24", "node:24@"+someDigest):                         "",
		image("node:24", "node@"+someDigest):                            "",
		image("node:24", someDigest):                                    "",
		image("h.example:5000/node", "h.example:5000/node@"+someDigest): "",
		image("node:24", "evil:24@"+someDigest):                         `is not "node:24" by its content`,
		image("h.example:5000/node", "h.example@"+someDigest):           `is not "h.example:5000/node" by its content`,
		image("node:24", "node:24"):                                     `images.0.pinned: "node:24" is not "node:24" by its content`,
		image("node@"+someDigest, "node@"+someDigest):                   "images.0.pinned: ",
		image("-x", someDigest):                                         `"-x" is not the name of an image`,
		image("a", someDigest) + image("a", someDigest):                 `images.1: the image "a" is pinned twice`,
		"[[images]]\nname='a'\n":                                        "images.0.pinned: is required",
		image("a", someDigest) + "more=1":                               "images.0.more: unknown key",
		"images = 3":                                                    "images: must be an array",
		"images = [3]":                                                  "images.0: must be a table",
		strings.Repeat(image("a", someDigest), maxLockImages+1):         "images: has 33 entries",
	} {
		_, problems := parseLock("p.lock", []byte(head+text))
		if (want == "") != (len(problems) == 0) || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, problems, want)
		}
	}
}

func TestLockImage(t *testing.T) {
	lock := &Lock{Images: []Image{{"node:24", "node:24@" + someDigest}}}
	for name, want := range map[string]string{"node:24": "node:24@" + someDigest, "node": "", "x@" + someDigest: "x@" + someDigest, someDigest: someDigest} {
		if got, ok := lock.Image(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	if _, ok := (*Lock)(nil).Image("node:24"); ok {
		t.Error("without a lock there is a pin")
	}
}

// An image that is not pinned is a difference, with the runtime that needs it.
func TestDifferencesOfImages(t *testing.T) {
	npx := skillWith("mcpStdioSkill", "command='npx'\npackageName='x'")
	for _, tt := range []struct{ text, want string }{
		{"runtime='docker'\n" + npx, `the image "node:24-bookworm-slim" is not pinned`},
		{"runtime='docker'\ndocker.nodeImage='n@" + someDigest + "'\n" + npx, ""},
		{npx, ""},
	} {
		c := parseGood(t, tt.text)
		compare(t, tt.text, lockOf(c).Differences(c), tt.want)
	}
	c := parseGood(t, "runtime='docker'\n"+npx)
	lock := lockOf(c)
	lock.Images = []Image{{"node:24-bookworm-slim", someDigest}}
	compare(t, "pinned", lock.Differences(c), "")
}
