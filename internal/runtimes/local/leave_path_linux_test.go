package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/job"
)

// A librarian answers questions about directories.
type librarian struct {
	answer event.Answer
	then   func() // after the first answer

	mu    sync.Mutex
	asked []string
}

func (l *librarian) Ask(_ context.Context, q event.Request) (event.Answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := q.Approval.Effect
	l.asked = append(l.asked, fmt.Sprintf("%s %s for %s of %s", e.Kind, e.Path, e.Named, q.ExpertKey))
	if l.then != nil {
		l.then()
		l.then = nil
	}
	return l.answer, nil
}

// outsideDir makes a directory that no sandbox shows: at level full, /tmp is another directory.
func outsideDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "perstack-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"data/a.txt", "data/below/b.txt", "beside/c.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content of "+filepath.Base(name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// commands is a cassette with one shell command a turn.
func commands(scripts ...string) string {
	var b strings.Builder
	for i, script := range scripts {
		fmt.Fprintf(&b, "[[turn]]\nturn = %d\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", %q] }\n", i+1, script)
	}
	fmt.Fprintf(&b, "[[turn]]\nturn = %d\ntext = \"done\"\n", len(scripts)+1)
	return b.String()
}

const pair = lone + "delegates = ['helper']\n[experts.helper]\ninstruction = 'Help.'\n"

// A reader is a job that reads files outside of its sandbox, and what came of it.
type reader struct {
	librarian
	level   expert.SandboxLevel
	results []string // of the calls
	hints   []string
	status  event.Status
}

func (r *reader) run(t *testing.T, cassette string, change func(*job.Spec), headless bool) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	spec := teamSpec(t, pair, t.TempDir())
	spec.Isolation.Sandbox = expert.SandboxAuto
	if change != nil {
		change(&spec)
	}
	parts := newParts(t, cassette, func(e event.Event) error {
		switch b := e.Body.(type) {
		case event.EndToolCall:
			r.results = append(r.results, event.FirstText(b.ToolResult.Result))
		case event.SandboxHint:
			r.hints = append(r.hints, b.Path)
		}
		return nil
	})
	if !headless {
		parts.Approver = &r.librarian
	}
	result, err := local.RunOn(t.Context(), r.level, spec, parts)
	if err != nil {
		t.Fatal(err)
	}
	r.status = result.Status
}

func eachLevel(t *testing.T, test func(t *testing.T, level expert.SandboxLevel)) {
	t.Helper()
	if offer := local.Offered(t.Context(), ""); offer.Level != expert.SandboxFull {
		testkit.Missing(t, fmt.Sprint(offer.Why))
	}
	for _, level := range []expert.SandboxLevel{expert.SandboxLandlock, expert.SandboxFull} {
		t.Run(string(level), func(t *testing.T) { test(t, level) })
	}
}

// A directory that the user opens can be read from the next call on, and not changed. What is beside it
// stays closed.
func TestLeaveSandboxForDirectory(t *testing.T) {
	inHome := false
	test := func(t *testing.T, level expert.SandboxLevel) {
		dir := outsideDir(t)
		if inHome { // level full has another home directory
			t.Setenv("HOME", dir)
		}
		data := filepath.Join(dir, "data")
		r := &reader{level: level, librarian: librarian{answer: event.Answer{Allow: true}}}
		r.run(t, commands(
			"cat "+data+"/a.txt",
			"cat "+data+"/a.txt "+data+"/below/b.txt",
			"echo x >"+data+"/a.txt || echo x >"+data+"/new || rm "+data+"/a.txt",
			"ls "+dir+"; cat "+data+"/../beside/none.txt",
		), nil, false)
		if want := []string{"path " + data + " for " + data + "/a.txt of lead"}; !slices.Equal(r.asked, want) {
			t.Errorf("asked %q", r.asked)
		}
		if r.status != event.StatusCompleted || len(r.results) != 4 {
			t.Fatalf("%s with %q", r.status, r.results)
		}
		if got := r.results[0]; strings.Contains(got, "content of") || !strings.Contains(got, data+" can be read now, with all that is in it. Run the command again.") {
			t.Errorf("the first call: %s", got)
		}
		if got := r.results[1]; !strings.Contains(got, "content of a.txtcontent of b.txt") {
			t.Errorf("after the answer: %s", got)
		}
		if got := r.results[2]; !strings.Contains(got, `"error"`) {
			t.Errorf("it can be changed: %s", got)
		}
		if content, err := os.ReadFile(data + "/a.txt"); err != nil || string(content) != "content of a.txt" {
			t.Errorf("the file is %q, %v", content, err)
		}
		if got := r.results[3]; strings.Contains(got, "c.txt") {
			t.Errorf("what is beside it: %s", got)
		}
	}
	eachLevel(t, test)
	inHome = true
	t.Run("in the home directory", func(t *testing.T) { eachLevel(t, test) })
}

// What the model and the Run are told if a directory is not opened. The job continues.
func TestLeaveSandboxForDirectoryRefused(t *testing.T) {
	eachLevel(t, func(t *testing.T, level expert.SandboxLevel) {
		dir := outsideDir(t)
		data, file := filepath.Join(dir, "data"), filepath.Join(dir, "data", "a.txt")
		preset := func(p job.Preset) func(*job.Spec) {
			return func(s *job.Spec) { s.Approvals.Sources = []job.Rules{{Origin: "user", Preset: p}} }
		}
		rule := func(do job.Verdict, path, why string) func(*job.Spec) {
			return func(s *job.Spec) {
				s.Approvals.Sources = []job.Rules{{Origin: "user", Rules: []job.Rule{{Path: path, Do: do, Why: why}}}}
			}
		}
		const noWayAround = ". Do not try to get the same effect in another way; continue without it, or say what is missing."
		outside := file + " is outside the sandbox"
		for _, tt := range []struct {
			name     string
			change   func(*job.Spec)
			headless bool
			answer   event.Answer
			asked    int
			told     string // to the model, in the first call and in the second one
			again    string
		}{
			{name: "headless", headless: true, told: outside, again: outside},
			{name: "the preset never", change: preset(job.PresetNever), told: outside, again: outside},
			{name: "denied by a rule", change: rule(job.Deny, dir+"/**", "not yours"), told: outside + ". denied by a rule: not yours" + noWayAround, again: outside + ". denied by a rule: not yours" + noWayAround},
			{name: "denied by a rule about a part of it", change: rule(job.Deny, data+"/below/*", ""), told: outside, again: outside},
			{name: "denied by the user", answer: event.Answer{Reason: "use the copy"}, asked: 1, told: outside + ". denied by the user: use the copy" + noWayAround, again: outside + ". denied by the user: use the copy" + noWayAround},
			{name: "allowed by a rule, headless", headless: true, change: rule(job.Allow, dir+"/**", ""), told: data + " can be read now", again: ""},
			{name: "all is allowed, headless", headless: true, change: func(s *job.Spec) { s.Approvals.AllowAll = true }, told: data + " can be read now", again: ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				r := &reader{level: level, librarian: librarian{answer: tt.answer}}
				r.run(t, commands("cat "+file, "cat "+file), tt.change, tt.headless)
				if r.status != event.StatusCompleted || len(r.results) != 2 || len(r.asked) != tt.asked {
					t.Fatalf("%s with %q, asked %q", r.status, r.results, r.asked)
				}
				if !strings.Contains(r.results[0], tt.told) {
					t.Errorf("the model is told: %s", r.results[0])
				}
				if opened := strings.Contains(r.results[1], "content of"); opened != (tt.again == "") || !strings.Contains(r.results[1], tt.again) {
					t.Errorf("then: %s", r.results[1])
				}
				if hinted := slices.Contains(r.hints, file); hinted == (tt.again == "") {
					t.Errorf("hints %q", r.hints)
				}
			})
		}
	})
}

// A link that leads elsewhere after the answer does not lead programs there: the answer is about the
// directory that the link led to, and a link in place of that is not followed.
func TestLeaveSandboxForMovedDirectory(t *testing.T) {
	eachLevel(t, func(t *testing.T, level expert.SandboxLevel) {
		for _, name := range []string{"the link is changed", "a link takes its place"} {
			t.Run(name, func(t *testing.T) {
				dir := outsideDir(t)
				data, link := filepath.Join(dir, "data"), filepath.Join(dir, "link")
				if err := os.Symlink("data", link); err != nil {
					t.Fatal(err)
				}
				r := &reader{level: level, librarian: librarian{answer: event.Answer{Allow: true}}}
				r.then = func() {
					at := link
					if name == "a link takes its place" {
						at = data
						if err := os.Rename(data, filepath.Join(dir, "moved")); err != nil {
							t.Error(err)
						}
					} else if err := os.Remove(link); err != nil {
						t.Error(err)
					}
					if err := os.Symlink("beside", at); err != nil {
						t.Error(err)
					}
				}
				r.run(t, commands("cat "+link+"/a.txt", "cat "+link+"/c.txt "+data+"/c.txt "+dir+"/beside/c.txt", "cat "+data+"/c.txt"), func(s *job.Spec) {
					s.Approvals.Sources = []job.Rules{{Origin: "user", Rules: []job.Rule{{Path: dir + "/beside", Do: job.Deny}}}}
				}, false)
				if want := []string{"path " + data + " for " + link + "/a.txt of lead"}; !slices.Equal(r.asked, want) {
					t.Errorf("asked %q", r.asked)
				}
				if got := strings.Join(r.results, "\n"); strings.Contains(got, "content of c") {
					t.Errorf("a directory that was not opened is read: %s", got)
				}
			})
		}
	})
}

// What the user opens to an Expert for the whole job is not open to its delegate, which is asked about.
func TestLeaveSandboxForDelegate(t *testing.T) {
	eachLevel(t, func(t *testing.T, level expert.SandboxLevel) {
		data := filepath.Join(outsideDir(t), "data")
		reads := fmt.Sprintf("tool = \"exec\"\nargs = { command = \"cat\", args = [%q] }\n", data+"/a.txt")
		turn := func(key string, number int, call string) string {
			return fmt.Sprintf("[[turn]]\nexpert = %q\nturn = %d\n[[turn.call]]\n%s", key, number, call)
		}
		r := &reader{level: level, librarian: librarian{answer: event.Answer{Allow: true, Scope: event.ScopeJob}}}
		r.run(t, turn("lead", 1, reads)+turn("lead", 2, reads)+turn("lead", 3, "tool = \"helper\"\nargs = { query = \"read it\" }\n")+
			turn("helper", 1, reads)+turn("helper", 2, reads)+"[[turn]]\nexpert = \"helper\"\nturn = 3\ntext = \"done\"\n[[turn]]\nexpert = \"lead\"\nturn = 4\ntext = \"done\"\n", nil, false)
		if want := []string{"path " + data + " for " + data + "/a.txt of lead", "path " + data + " for " + data + "/a.txt of helper"}; !slices.Equal(r.asked, want) {
			t.Errorf("asked %q", r.asked)
		}
		var read []bool
		for _, result := range r.results {
			if strings.Contains(result, "exitCode") {
				read = append(read, strings.Contains(result, "content of a.txt"))
			}
		}
		if want := []bool{false, true, false, true}; !slices.Equal(read, want) {
			t.Errorf("read %v, want %v: %q", read, want, r.results)
		}
	})
}

// Commands that fail at the same time at the same directory share one question, and the next ones read
// it.
func TestLeaveSandboxInParallel(t *testing.T) {
	eachLevel(t, func(t *testing.T, level expert.SandboxLevel) {
		data := filepath.Join(outsideDir(t), "data")
		var cassette strings.Builder
		for n := range 2 {
			fmt.Fprintf(&cassette, "[[turn]]\nturn = %d\n", n+1)
			for range 10 {
				fmt.Fprintf(&cassette, "[[turn.call]]\ntool = \"exec\"\nargs = { command = \"cat\", args = [%q] }\n", data+"/a.txt")
			}
		}
		cassette.WriteString("[[turn]]\nturn = 3\ntext = \"done\"\n")
		r := &reader{level: level, librarian: librarian{answer: event.Answer{Allow: true}}}
		r.run(t, cassette.String(), nil, false)
		read := 0
		for _, result := range r.results {
			if strings.Contains(result, "content of a.txt") {
				read++
			} else if !strings.Contains(result, data+" can be read now") {
				t.Errorf("a command failed: %s", result)
			}
		}
		if len(r.asked) != 1 || len(r.results) != 20 || read < 10 {
			t.Errorf("asked %q, %d of %d commands read it", r.asked, read, len(r.results))
		}
	})
}
