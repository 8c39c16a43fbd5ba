//go:build linux

package docker

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/world/scout"
)

// scouting writes the scout into the workspace, as scoutd.
func (p *project) scouting() {
	p.t.Helper()
	program, err := os.ReadFile(scoutProgram(p.t))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("scoutd", program, 0o755)
}

func scoutProgram(t *testing.T) string {
	t.Helper()
	return daemon.Program(t, "./internal/testkit/world/scout/scoutd")
}

// report reads what a scout has found.
func (p *project) report(name string) scout.Report {
	p.t.Helper()
	var r scout.Report
	if err := json.Unmarshal(p.read(name), &r); err != nil || !r.Complete {
		p.t.Fatalf("the report %s: %v", name, err)
	}
	return r
}

// awaitFile waits until a command has made a file.
func (p *project) awaitFile(s *started, name string) {
	p.t.Helper()
	for {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			return
		}
		if p.t.Context().Err() != nil || s.ended() {
			p.t.Fatalf("%s never came\n%s\n%s", name, s.stderr(), tail(s.stdout(), 2000))
		}
		time.Sleep(10 * time.Millisecond)
	}
}
