//go:build linux

package docker

import (
	"os"
	"path/filepath"
	"testing"
)

// TestParentsCannotBeMoved keeps perstack.toml and the history in directories of the
// workspace. A command that could move those could put another perstack.toml in their place
// for the next run, which says where the key goes; and the history would be unprotected where
// the next run does not look for it.
func TestParentsCannotBeMoved(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.scouting()
	p.write("conf/deep/perstack.toml", p.read("perstack.toml"), 0o644)
	p.write("some/where/kept", nil, 0o644)
	parents := []string{"conf", "conf/deep", "some", "some/where"}
	p.serve("[[turn]]\n" + command(t, "./scoutd", append([]string{"look", "report.json"}, parents...)...) + "[[turn]]\ntext = \"Looked.\"\n")
	p.run("worker", "go", "--job-id", p.job(), "--config", "conf/deep/perstack.toml", "--storage", "some/where/history").must(t, 0)
	r := p.report("report.json")
	for _, dir := range parents {
		place := r.Places[dir]
		if place.Renamed == "" {
			t.Errorf("%s can be moved away", dir)
		}
		if place.Made != "" {
			t.Errorf("%s cannot be worked in: %s", dir, place.Made)
		}
	}
}

// TestWhatTheNextRunWouldUse has commands make files that the next run would read. They
// do not stay under their names: perstack.toml may name programs to start on the host.
func TestWhatTheNextRunWouldUse(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.scouting()
	p.write("conf/perstack.toml", p.read("perstack.toml"), 0o644)
	if err := os.Remove(filepath.Join(p.dir, "perstack.toml")); err != nil {
		t.Fatal(err)
	}
	job := p.job()
	p.serve("[[turn]]\n" + command(t, "./scoutd", "make", "perstack.toml", "conf/perstack.lock", ".env") + "[[turn]]\ntext = \"Made.\"\n")
	o := p.run("worker", "go", "--job-id", job, "--config", "conf/perstack.toml")
	o.must(t, 0)
	for _, name := range []string{"perstack.toml", "conf/perstack.lock", ".env"} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
			t.Errorf("%s is there, and the next run would use it", name)
		}
		if _, err := os.Lstat(filepath.Join(p.dir, name+".from-"+job)); err != nil {
			t.Errorf("what was made as %s is gone, or was not made: %v", name, err)
		}
	}
}
