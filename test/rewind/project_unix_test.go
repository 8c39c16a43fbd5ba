//go:build unix

package rewind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/history"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/store/file"
)

// A project has Experts, and a workspace that is not the directory of perstack.toml.
type project struct {
	t       testing.TB
	dir, ws string
}

const jobID = "job"

func newProject(t testing.TB) *project {
	t.Helper()
	testkit.Need(t, "git", "sh", "sed", "cp")
	dir := t.TempDir()
	p := &project{t, dir, filepath.Join(dir, "ws")}
	self, err := os.Executable()
	p.check(err)
	p.check(os.Mkdir(p.ws, 0o755))
	p.check(os.WriteFile(filepath.Join(dir, "perstack.toml"), fmt.Appendf(nil, `[experts.lead]
instruction = %q
delegates = ["worker"]
[experts.lead.skills.files]
type = "mcpStdioSkill"
command = %q
args = [%q]
[experts.worker]
description = "Works."
instruction = "You are a worker."
`, leadInstruction, self, serveFiles), 0o644))
	return p
}

// config adds settings to perstack.toml, before the Experts.
func (p *project) config(settings string) {
	p.t.Helper()
	path := filepath.Join(p.dir, "perstack.toml")
	text, err := os.ReadFile(path)
	p.check(err)
	p.check(os.WriteFile(path, append([]byte(settings), text...), 0o644))
}

// initRepository makes a repository in which commands of a job can commit: they do not get the
// variables of this process.
const initRepository = "git init -q -b main .; git config gc.auto 0; git config user.name a; git config user.email a@example.com"

// leadInstruction is in each request of the coordinator, and in no other.
const leadInstruction = "You are the lead."

func (p *project) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// sh runs a script in the workspace as the user does.
func (p *project) sh(script string) string {
	p.t.Helper()
	out, err := p.script(script)
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

func (p *project) script(script string) (string, error) {
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = p.ws
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// perstack runs a command. It returns its exit code and what it wrote.
func (p *project) perstack(args ...string) (code int, out string) {
	p.t.Helper()
	return p.perstackWith(nil, args...)
}

func (p *project) perstackWith(env []string, args ...string) (code int, out string) {
	p.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(text)
	}
	p.check(err)
	return 0, string(text)
}

// must runs a command that has to succeed.
func (p *project) must(args ...string) string {
	p.t.Helper()
	code, out := p.perstack(args...)
	if code != 0 {
		p.t.Fatalf("perstack %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// run runs the coordinator against a scripted model. Before each of its requests is answered, when
// none of its tools runs, ask is called.
func (p *project) run(script string, ask func(), args ...string) (code int, out string) {
	p.t.Helper()
	parsed, err := llm.Parse("script", []byte(script))
	p.check(err)
	model := llm.New(parsed)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte(leadInstruction)) && ask != nil {
			ask()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	defer front.Close()
	return p.perstackWith([]string{"ANTHROPIC_API_KEY=" + llm.Key, "ANTHROPIC_BASE_URL=" + front.URL + "/v1"},
		append([]string{"run", "lead", "--workspace", p.ws, "--output", "text"}, args...)...)
}

// runOnce runs scripts in one Run, a step each.
func (p *project) runOnce(scripts []string, args ...string) (code int, out string) {
	p.t.Helper()
	var text strings.Builder
	last := "go!"
	for i, script := range scripts {
		mark := fmt.Sprintf("<%d>", i)
		fmt.Fprintf(&text, "[[turn]]\ncontains = %q\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", %q] }\n", last, script+"\necho '"+mark+"'")
		last = mark
	}
	fmt.Fprintf(&text, "[[turn]]\ncontains = %q\ntext = \"Done.\"\n", last)
	return p.run(text.String(), nil, append([]string{"go!"}, args...)...)
}

// newestCheckpoint returns the newest checkpoint, "" if there is none.
func (p *project) newestCheckpoint() (newest string, err error) {
	h, err := engine.Load(p.t.Context(), file.New(history.Of(p.t, p.dir), nil), jobID)
	if err != nil {
		return "", err
	}
	last := int64(-1)
	for _, id := range h.Checkpoints() {
		if point, ok := h.At(id); ok && point.Seq > last {
			newest, last = id, point.Seq
		}
	}
	return newest, nil
}

// snapshotBefore returns the name of the first snapshot after a record that was taken before a call,
// "" if there is none, and the last record.
func (p *project) snapshotBefore(after int64) (name string, last int64, err error) {
	last = after
	for r, err := range file.New(history.Of(p.t, p.dir), nil).Read(p.t.Context(), jobID, after) {
		if err != nil {
			return "", 0, err
		}
		if b, ok := r.Event.Body.(event.WorkspaceSnapshot); ok && b.Reason == event.SnapshotBefore && name == "" {
			name = fmt.Sprintf("s%d", r.Seq)
		}
		last = r.Seq
	}
	return name, last, nil
}

// A listing is everything in a workspace: bytes, modes, links, and directories.
type listing map[string]string

// list looks at the workspace. It leaves out what the documentation excludes from snapshots, and the
// names that restores give to commits.
func (p *project) list() (listing, error) {
	all := listing{}
	err := filepath.WalkDir(p.ws, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == p.ws {
			return err
		}
		name, _ := filepath.Rel(p.ws, path)
		switch name {
		case ".git/objects", ".git/logs", ".git/refs/perstack", "node_modules":
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String()
		switch {
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[name] = "link " + target
			return err
		case e.Type().IsRegular():
			content, err := os.ReadFile(path)
			all[name] += " " + string(content)
			return err
		}
		return nil
	})
	return all, err
}

func (p *project) mustList() listing {
	p.t.Helper()
	all, err := p.list()
	p.check(err)
	return all
}

// same compares the workspace with what it was.
func (p *project) same(want listing, when string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.mustList()); diff != "" {
		p.t.Fatalf("%s (- wanted, + is):\n%s", when, diff)
	}
}

// changed returns the paths that differ.
func (l listing) changed(now listing) map[string]bool {
	all := map[string]bool{}
	for path, was := range l {
		if is, ok := now[path]; !ok || is != was {
			all[path] = true
		}
	}
	for path := range now {
		if _, ok := l[path]; !ok {
			all[path] = true
		}
	}
	return all
}

// back returns the arguments of the command that takes a restore back; nil if nothing was restored.
func back(out string) []string {
	_, command, ok := strings.Cut(out, "back again: perstack ")
	if !ok {
		return nil
	}
	command, _, _ = strings.Cut(command, "\n")
	return strings.Fields(command)
}
