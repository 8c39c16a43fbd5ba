//go:build linux

package docker

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/attack"
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

// TestGitIsReadOnly has a command change what git runs programs by, in repositories that the user
// has. The rest of a repository can be worked with.
func TestGitIsReadOnly(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker, "lib/part/.git": "gitdir: ../../.git/modules/part\n"})
	p.scouting()
	for _, dir := range []string{".", "own/tool", ".git/modules/part"} {
		if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", filepath.Join(p.dir, dir)).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v\n%s", err, out)
		}
	}
	p.give()
	open := []string{".git", "own/tool/.git", ".git/modules/part/.git", "own", "lib/part"} // they stay where they are
	var held []string
	for _, git := range open[:3] {
		held = append(held, git+"/config", git+"/hooks")
	}
	held = append(held, "lib/part/.git")
	p.serve("[[turn]]\n" + command(t, "./scoutd", slices.Concat([]string{"look", "report.json"}, open, held)...) +
		"[[turn]]\n" + command(t, "./scoutd", "make", ".git/config") + "[[turn]]\ntext = \"Looked.\"\n")
	config := p.read(".git/config")
	o := p.run("worker", "go", "--job-id", p.job())
	o.must(t, 0)
	r := p.report("report.json")
	for _, dir := range open {
		if place := r.Places[dir]; place.Renamed == "" || place.Made != "" {
			t.Errorf("%s: moved away: %q, worked in: %q", dir, place.Renamed, place.Made)
		}
	}
	for _, path := range held {
		if place := r.Places[path]; place.Renamed == "" || place.Made == "" || place.Bytes == 0 {
			t.Errorf("%s: moved away: %q, changed: %q, %d bytes read", path, place.Renamed, place.Made, place.Bytes)
		}
	}
	if !bytes.Equal(p.read(".git/config"), config) {
		t.Error(".git/config was written")
	}
	if strings.Contains(o.stderr, "git") {
		t.Errorf("a change is reported: %s", o.stderr)
	}
	attack.Held(t, "T10", len(held))
}

// TestWhatTheNextRunWouldUse has commands make files that the next run would read. It does not
// read them: perstack.toml may name programs to start on the host.
func TestWhatTheNextRunWouldUse(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.scouting()
	p.write("conf/perstack.toml", p.read("perstack.toml"), 0o644)
	if err := os.Remove(filepath.Join(p.dir, "perstack.toml")); err != nil {
		t.Fatal(err)
	}
	job := p.job()
	names := []string{"perstack.toml", "conf/perstack.lock", ".env"}
	p.serve("[[turn]]\n" + command(t, "./scoutd", append([]string{"make"}, names...)...) + "[[turn]]\ntext = \"Made.\"\n")
	o := p.run("worker", "go", "--job-id", job, "--config", "conf/perstack.toml")
	o.must(t, 0)
	for _, name := range names {
		if !strings.Contains(o.stderr, name+" appeared while job "+job+" ran") {
			t.Errorf("%s was made, and the user was not told: %s", name, o.stderr)
		}
	}
	for _, c := range []struct{ refused, config string }{
		{"perstack.toml", "perstack.toml"}, {"conf/perstack.lock", "conf/perstack.toml"}, {".env", "conf/perstack.toml"},
	} {
		o := p.run("worker", "again", "--config", c.config)
		if o.must(t, 2); !strings.Contains(o.stderr, c.refused+" did not exist before job "+job) {
			t.Errorf("%s: %s", c.refused, o.stderr)
		}
		p.perstack("trust", c.refused).must(t, 0)
	}
	attack.Held(t, "T4", 3)
}

// TestPlantedLink replaces .env, which is a link, from the inside, and takes the rights to the
// workspace away. The next run on the host does not read what it leads to.
func TestPlantedLink(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker, "conf/dev.env": "A=b\n"})
	p.scouting()
	if err := os.Symlink("conf/dev.env", filepath.Join(p.dir, ".env")); err != nil {
		t.Fatal(err)
	}
	p.give()
	t.Cleanup(func() { os.Chmod(p.dir, 0o755) })
	job := p.job()
	p.serve("[[turn]]\n" + command(t, "./scoutd", "plant", "planted", ".env") + "[[turn]]\ntext = \"Done.\"\n")
	o := p.run("worker", "go", "--job-id", job)
	o.must(t, 0)
	if target, err := os.Readlink(filepath.Join(p.dir, ".env")); err != nil || target != "planted" {
		t.Fatalf("the link was not replaced: %q, %v", target, err)
	}
	if !strings.Contains(o.stderr, ".env was changed while job "+job+" ran") {
		t.Errorf("the user was not told: %s", o.stderr)
	}
	for _, runtime := range []string{"local", "docker"} {
		o := p.perstack("run", "worker", "again", "--runtime", runtime)
		if o.must(t, 2); !strings.Contains(o.stderr, ".env was changed during job "+job) {
			t.Errorf("%s: %s", runtime, o.stderr)
		}
	}
	attack.Held(t, "T4", 1)
}
