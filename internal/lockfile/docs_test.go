package lockfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The lockfile on the page is one that a run would take, for the Expert that it shows.
func TestDocumentedLock(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "lockfile.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```toml\n")
	block, _, found := strings.Cut(block, "```\n")
	if !found {
		t.Fatal("the page has no example")
	}
	lock, problems := parseLock("docs/lockfile.md", []byte(block))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c := parseGood(t, "[experts.writer]\ninstruction = 'Write.'\n[experts.writer.skills.web]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = '@acme/web'\n")
	if got := lock.Differences(c); got != nil {
		t.Errorf("%v; the digests are now %s and %s", got, c.Experts[0].Digest(), c.Experts[0].Servers()[0].Connection())
	}
	if _, written, _ := strings.Cut(string(lock.Encode()), "\n"); written != block {
		t.Errorf("perstack install writes it as\n%s", written)
	}
}
