//go:build root && linux

package protect

import (
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/hung"
)

// A link to a file system that does not answer keeps no run from ending, and no other from
// starting.
func TestRootHungLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".env", "user")
	away := hung.Mount(t)
	r := w.begin("job")
	w.link(filepath.Join(away, ".env"), ".env")
	if got := w.text(w.end(r).Marks); got != "changed .env" {
		t.Errorf("%q", got)
	}
	if got := w.refused(".env"); got != "changed .env" {
		t.Errorf("then %q", got)
	}
}
