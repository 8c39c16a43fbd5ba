//go:build linux

package docker

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contents returns the files of the workspace.
func (p *project) contents() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "probed" {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(p.dir, path)
		all[name] = string(data)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// same compares the workspace with what it was.
func (p *project) same(want map[string]string, when string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.contents()); diff != "" {
		p.t.Fatalf("%s (- wanted, + is):\n%s", when, diff)
	}
}

// undoProject has an Expert that changes files by a command and by a tool.
func undoProject(t *testing.T, skill string) *project {
	t.Helper()
	p := newProject(t, "", map[string]string{
		"perstack.toml": worker + skill, "skill.json": "{}",
		"job.txt": "before\n", "user.txt": "before\n", "other.txt": "before\n", "old.txt": "before\n",
	})
	p.serve("[[turn]]\n" + command(t, "./probed", "append", "job.txt", "by a command") +
		"[[turn]]\n" + call(t, "writeTextFile", map[string]any{"path": "dir/new.txt", "text": "by a tool\n"}) +
		"[[turn]]\n" + call(t, "deleteFile", map[string]any{"path": "old.txt"}) + "[[turn]]\ntext = \"Done.\"\n")
	return p
}

// again runs the command that takes a restore back.
func (p *project) again(out outcome) {
	p.t.Helper()
	_, command, ok := strings.Cut(out.stdout, "back again: perstack ")
	if !ok {
		p.t.Fatalf("no way back in %s", out.stdout)
	}
	command, _, _ = strings.Cut(command, "\n")
	p.perstack(strings.Fields(command)...).must(p.t, 0)
}

// TestUndo takes back what an Expert in a container did, by a command and by tools. What the user
// changed stays.
func TestUndo(t *testing.T) {
	t.Parallel()
	p := undoProject(t, "")
	want := p.contents()
	job := p.job()
	p.run("worker", "go", "--job-id", job).must(t, 0)
	if got := p.contents(); got["job.txt"] != "before\nby a command\n" || got["dir/new.txt"] != "by a tool\n" || got["old.txt"] != "" {
		t.Fatalf("the Expert did not work: %v", got)
	}
	p.write("user.txt", []byte("mine\n"), 0o644)
	p.write("mine.txt", []byte("mine\n"), 0o644)
	want["user.txt"], want["mine.txt"] = "mine\n", "mine\n"
	after := p.contents()

	out := p.perstack("undo", job).must(t, 0)
	for _, text := range []string{"D old.txt", "A dir/new.txt", "M job.txt", "they stay: mine.txt user.txt"} {
		if !strings.Contains(out.stdout, text) {
			t.Errorf("%q is not in %s", text, out.stdout)
		}
	}
	p.same(want, "undone")
	p.again(out)
	p.same(after, "back again")
}

// TestUndoOfALie changes a file in the container while no call is reported. It is not known who did
// that, so undo refuses, and --force restores the file. Nothing is lost.
func TestUndoOfALie(t *testing.T) {
	t.Parallel()
	p := undoProject(t, "[experts.worker.skills.liar]\ntype = \"mcpStdioSkill\"\ncommand = \"/workspace/probed\"\nargs = [\"mcp\", \"skill.json\", \"other.txt\", \"by a lie\"]\n")
	before := p.contents()
	job := p.job()
	p.run("worker", "go", "--job-id", job).must(t, 0)
	p.write("user.txt", []byte("mine\n"), 0o644)
	after := p.contents()
	if after["other.txt"] != "before\nby a lie\n" {
		t.Fatalf("the skill did not lie: %v", after)
	}

	out := p.perstack("undo", job).must(t, 1)
	if !strings.Contains(out.stderr, "other.txt") || !strings.Contains(out.stderr, "--force") || strings.Contains(out.stderr, "job.txt") {
		t.Errorf("refused with %s", out.stderr)
	}
	p.same(after, "refused")
	out = p.perstack("undo", job, "--force").must(t, 0)
	before["user.txt"] = "mine\n"
	p.same(before, "undone by force")
	p.again(out)
	p.same(after, "back again")
}

// TestUndoOfAReader runs an Expert that cannot change the workspace: there is nothing to undo.
func TestUndoOfAReader(t *testing.T) {
	t.Parallel()
	p := undoProject(t, "")
	before := p.contents()
	job := p.job()
	p.run("worker", "go", "--job-id", job, "--read-only-workspace").must(t, 0)
	p.same(before, "after the run")
	p.write("user.txt", []byte("mine\n"), 0o644)
	before["user.txt"] = "mine\n"
	if out := p.perstack("undo", job).must(t, 0); !strings.Contains(out.stdout, "changed no files") {
		t.Errorf("undo says %s", out.stdout)
	}
	p.same(before, "undone")
}
