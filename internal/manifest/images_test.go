package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var someDigest = "sha256:" + strings.Repeat("ab", 32)

func TestImagePinned(t *testing.T) {
	for reference, want := range map[string]bool{
		"node:24": false, "node": false, "": false, "sha256:abc": false, "node@sha256:abc": false,
		"node@" + someDigest: true, "node:24@" + someDigest: true, someDigest: true, "h.example:5/a/b@" + someDigest: true,
	} {
		if got := ImagePinned(reference); got != want {
			t.Errorf("%q: %v", reference, got)
		}
	}
}

// The images of a file are those that packages of its Experts stand on, and that of Squid.
func TestImages(t *testing.T) {
	npx := skillWith("mcpStdioSkill", "command='npx'\npackageName='x'")
	squid := "docker={proxy='squid',squidImage='squid:6'}\n"
	for text, want := range map[string][]string{
		expertWith(""):                   nil,
		npx:                              {"node:24-bookworm-slim"},
		"docker.nodeImage='n:1'\n" + npx: {"n:1"},
		"docker.baseImage='n:1'\n" + npx: nil,
		squid + npx:                      {"node:24-bookworm-slim", "squid:6"},
		"docker.pythonImage='p:3'\n" + skillWith("mcpStdioSkill", "command='uvx'\nargs=['x']"): {"p:3"},
		skillWith("mcpStdioSkill", "command='x'"):                                              nil,
	} {
		c := check(t, text)
		if d := cmp.Diff(want, c.Images()); d != "" {
			t.Errorf("%s (-want +got)\n%s", text, d)
		}
	}
}
