//go:build linux

package docker

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// TestStorageElsewhere keeps the history in the workspace, at several places, none of
// which exist before the first run. A command sees nothing of it, can put nothing there
// and cannot move it away: neither in the first run nor in the second, which finds a
// history that is there.
func TestStorageElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ storage, flag, env string }{
		"where it once was":  {storage: "perstack", flag: "perstack"},
		"by flag":            {storage: "history", flag: "history"},
		"by variable":        {storage: "history", env: "PERSTACK_STORAGE_PATH=history"},
		"deep, by flag":      {storage: "some/where/history", flag: "some/where/history"},
		"below a hidden one": {storage: ".cache/history", flag: "./.cache/../.cache/history"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "", map[string]string{"perstack.toml": worker})
			p.scouting()
			if dir := path.Dir(c.storage); dir != "." {
				// As root we would make it for root alone, and the container could not even see
				// that something in it is hidden.
				p.write(path.Join(dir, "kept"), nil, 0o644)
			}
			if c.env != "" {
				p.env = append(p.env, c.env)
			}
			job := p.job()
			jobDir := path.Join(c.storage, "jobs", job)
			looking := func(out string) string {
				return "[[turn]]\n" + command(t, "./scoutd", "look", out, c.storage, path.Join(c.storage, "jobs"), jobDir, path.Join(jobDir, "journal.jsonl")) + "[[turn]]\ntext = \"Looked.\"\n"
			}
			p.serve(looking("first.json") + looking("second.json"))
			run := func(args ...string) {
				t.Helper()
				if c.flag != "" {
					args = append(args, "--storage", c.flag)
				}
				p.run(args...).must(t, 0)
			}
			run("worker", "go", "--job-id", job)
			run("worker", "more", "--continue-job", job)
			if _, err := os.Stat(filepath.Join(p.dir, jobDir, "journal.jsonl")); err != nil {
				t.Fatalf("the history is not where it was looked for: %v", err)
			}
			for _, report := range []string{"first.json", "second.json"} {
				for at, place := range p.report(report).Places {
					if len(place.Files) > 0 || place.Bytes > 0 {
						t.Errorf("%s: %s shows %d bytes, %s", report, at, place.Bytes, strings.Join(place.Files, " "))
					}
					if place.Made == "" {
						t.Errorf("%s: a file was made in %s", report, at)
					}
					if place.Renamed == "" {
						t.Errorf("%s: %s was moved away", report, at)
					}
				}
			}
		})
	}
}

// TestTrustedHistory continues a job whose head is gone, in a container. What the container reports
// has to say that the user trusted the history, and so does the journal.
func TestTrustedHistory(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	job := p.job()
	p.serve("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n")
	p.run("worker", "go", "--job-id", job, "--storage", "history").must(t, 0)
	if err := os.Remove(filepath.Join(p.dir, "history/jobs", job, "head")); err != nil {
		t.Fatal(err)
	}
	p.run("worker", "more", "--continue-job", job, "--storage", "history").must(t, 2)
	p.run("worker", "more", "--continue-job", job, "--storage", "history", "--trust-history").must(t, 0)
	o := p.perstack("log", job, "--verify", "--storage", "history")
	if o.must(t, 0); !strings.Contains(o.stdout, "is not proved: it was continued with --trust-history") {
		t.Error(o.stdout)
	}
	attack.Held(t, "T1", 1)
}

// TestStateInTheWorkspace works in a directory that contains the state of the user, as a home
// directory does: a command sees neither the key that seals the history nor the history.
func TestStateInTheWorkspace(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.scouting()
	p.write("state/kept", nil, 0o644)
	p.env = append(p.env, "XDG_STATE_HOME="+filepath.Join(p.dir, "state"))
	job, key := p.job(), "state/perstack/seal.keys"
	look := func(out string) string {
		return "[[turn]]\n" + command(t, "./scoutd", "look", out, key, "state/perstack", "state/perstack/projects") + "[[turn]]\ntext = \"Looked.\"\n"
	}
	p.serve(look("first.json") + look("second.json"))
	p.run("worker", "go", "--job-id", job).must(t, 0)
	p.run("worker", "more", "--continue-job", job).must(t, 0)
	if data, err := os.ReadFile(filepath.Join(p.dir, key)); err != nil || len(data) < 64 {
		t.Fatalf("there is no key: %q, %v", data, err)
	}
	for _, report := range []string{"first.json", "second.json"} {
		for at, place := range p.report(report).Places {
			if len(place.Files) > 0 || place.Bytes > 0 || place.Made == "" || place.Renamed == "" {
				t.Errorf("%s: %s shows %d bytes, %v; made %q, renamed %q", report, at, place.Bytes, place.Files, place.Made, place.Renamed)
			}
		}
	}
	attack.Held(t, "T1", 6)
}
