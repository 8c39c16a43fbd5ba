package original

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// imported reads the only job of a fixture into a journal.
func (f *fixture) imported(secrets *secret.Set) (s store.Store, types, notes []string, err error) {
	f.t.Helper()
	h, err := Open(f.base)
	if err != nil {
		f.t.Fatal(err)
	}
	defer h.Close()
	jobs, problems := h.Jobs()
	if len(jobs) != 1 || len(problems) > 0 {
		f.t.Fatalf("%d jobs, %v", len(jobs), problems)
	}
	s = memory.New()
	journal, err := s.Open(f.t.Context(), jobs[0].ID)
	if err != nil {
		f.t.Fatal(err)
	}
	defer journal.Close()
	ids := 0
	notes, err = jobs[0].Events(f.t.Context(), Options{
		Secrets: secrets, NewID: func() string { ids++; return fmt.Sprintf("new%d", ids) }, Import: event.Import{Program: Program, Path: f.base, At: 7},
	}, func(e event.Event) (int64, error) {
		types = append(types, fmt.Sprintf("%s %s@%d", e.RunID, e.Type(), e.StepNumber))
		r, err := journal.Append(f.t.Context(), e)
		return r.Seq, err
	})
	return s, types, notes, err
}

// A journal that was made of the files folds into the checkpoints that the files have.
func TestCheckpointsSurvive(t *testing.T) {
	for name, write := range map[string]func(*fixture){
		"reader":                func(f *fixture) { f.reader(true) },
		"reader without events": func(f *fixture) { f.reader(false) },
		"team":                  (*fixture).team,
		"trouble":               (*fixture).trouble,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			write(f)
			s, types, notes, err := f.imported(&secret.Set{})
			if err != nil || len(notes) > 0 {
				t.Fatalf("%v, notes %q\n%s", err, notes, join(types))
			}
			history, err := engine.Load(t.Context(), s, "job1")
			if err != nil {
				t.Fatal(err)
			}
			if history.Job.Imported == nil || history.Job.Imported.Program != Program {
				t.Errorf("the journal does not say that it was imported: %+v", history.Job.Imported)
			}
			for _, file := range must(filepath.Glob(filepath.Join(f.base, "jobs/job1/checkpoints/*.json")))(t) {
				want := readCheckpoint(t, file)
				point, ok := history.At(want.ID)
				if !ok {
					t.Errorf("checkpoint %s is lost\n%s", want.ID, join(types))
					continue
				}
				got := point.State.Checkpoint()
				if diff := cmp.Diff(inCallOrder(want.Messages), inCallOrder(got.Messages)); diff != "" {
					t.Errorf("messages of %s (-file +journal):\n%s", want.ID, diff)
				}
				if got.Status != want.Status || got.StepNumber != want.StepNumber || len(got.PendingToolCalls) != len(want.PendingToolCalls) || len(got.DelegateTo) != len(want.DelegateTo) {
					t.Errorf("%s: got %s, step %d, %d pending, %d delegated; want %s, %d, %d, %d", want.ID, got.Status, got.StepNumber, len(got.PendingToolCalls), len(got.DelegateTo),
						want.Status, want.StepNumber, len(want.PendingToolCalls), len(want.DelegateTo))
				}
			}
		})
	}
}

// inCallOrder sorts the results in tool messages: the original puts that of the first delegate
// last.
func inCallOrder(messages []*event.Message) (all []string) {
	for _, m := range messages {
		var parts []string
		for _, p := range m.Contents {
			parts = append(parts, fmt.Sprintf("%s %s %s %s %s", p.ID, p.Type, p.ToolCallID, event.FirstText(p.Contents), p.Text+p.Thinking+string(p.Args)))
		}
		if m.Type == event.ToolMessage {
			parts = sorted(parts)
		}
		all = append(all, fmt.Sprintf("%s %s %q", m.ID, m.Type, parts))
	}
	return all
}

func TestEventsOfATeam(t *testing.T) {
	f := newFixture(t)
	f.team()
	_, types, _, err := f.imported(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`r1|startRun@1 r1|startGeneration@1 r1|callTools@1 r1|startToolCall@1 r1|endToolCall@1 r1|callDelegate@1 r1|stopRunByDelegate@1
		r-hotels|startRun@2 r-hotels|startGeneration@2 r-hotels|completeRun@2 r-trains|startRun@2 r-trains|startGeneration@2 r-trains|completeRun@2
		r2|startRun@3 r2|resumeToolCalls@3 r2|callInteractiveTool@3 r2|stopRunByInteractiveTool@3
		r3|startRun@4 r3|finishAllToolCalls@4 r3|continueToNextStep@4 r3|startGeneration@5 r3|completeRun@5`)
	if diff := cmp.Diff(strings.ReplaceAll(join(want), "|", " "), join(types)); diff != "" {
		t.Error(diff)
	}
}

// Older releases gave a parent and its delegate one run id.
func TestOneRunOfTwoExperts(t *testing.T) {
	f := newFixture(t)
	lead := with(conversationOf("lead", "Go."), message("l1", "expertMessage", toolCall("t1", "help", object{"query": "Help."})))
	f.checkpoint(cp("p1", "r1", "lead", "stoppedByDelegate", 1, lead, object{
		"delegateTo": []any{object{"expert": expertRef("help"), "toolCallId": "t1", "toolName": "help", "query": "Help."}},
	}), 1000, "stopRunByDelegate", nil)
	by := object{"expert": expertRef("lead"), "toolCallId": "t1", "toolName": "help", "checkpointId": "p1"}
	f.checkpoint(cp("d1", "r1", "help", "completed", 2, with(conversationOf("help", "Help."), message("h1", "expertMessage", text("Helped."))), object{"delegatedBy": by}), 2000, "completeRun", nil)
	lead = with(lead, message("l2", "toolMessage", toolResult("t1", "help", "Helped.")))
	f.checkpoint(cp("p2", "r1", "lead", "proceeding", 3, lead, nil), 3000, "continueToNextStep", nil)
	s, types, _, err := f.imported(nil)
	if err != nil {
		t.Fatal(err)
	}
	history, err := engine.Load(t.Context(), s, "job1")
	if err != nil {
		t.Fatal(err)
	}
	point, ok := history.At("d1")
	if by := point.State.DelegatedBy; !ok || point.State.RunID != "r1-2" || by == nil || by.RunID != "r1" {
		t.Errorf("the delegate is run %q of %+v\n%s", point.State.RunID, point.State.DelegatedBy, join(types))
	}
	if types[len(types)-1] != "r1 continueToNextStep@3" {
		t.Error(join(types))
	}
}

func TestSecretsAreRemoved(t *testing.T) {
	const key, other = "sk-ant-api03-Zq8vT2mLwX5nB7cK9dR4", "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4"
	f := newFixture(t)
	m := with(conversationOf("reader", "My key is "+other), message("m3", "expertMessage", toolCall("c1", "exec", object{"command": "echo " + key})),
		message("m4", "toolMessage", toolResult("c1", "exec", key)))
	f.checkpoint(cp("cp1", "run1", "reader", "proceeding", 1, m, nil), 1000, "", nil)
	// A retry in which the model was shown its own call again.
	m = with(m, message("m5", "expertMessage", toolCall("c2", "exec", object{})), message("m6", "toolMessage", toolResult("c2", "exec", "cut")))
	f.checkpoint(cp("cp2", "run1", "reader", "stoppedByError", 2, m, object{"error": object{"name": "E", "message": "key " + key, "isRetryable": false}}), 2000, "", nil)
	f.write("job1/runs/run1/event-2000-2-retry.json", object{"type": "retry", "runId": "run1", "stepNumber": 2, "reason": `{"error":"E","message":"` + other + `"}`})
	f.write("job1/runs/run1/run-setting.json", object{"model": "m1", "providerConfig": object{"providerName": "anthropic", "apiKey": key}, "env": object{"HOME": "/home/ana"}})
	secrets := &secret.Set{}
	secrets.Add("GITHUB_TOKEN", other)
	s, _, notes, err := f.imported(secrets)
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	for r, err := range s.Read(t.Context(), "job1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if line := string(r.Line); strings.Contains(line, key) || strings.Contains(line, other) {
			t.Errorf("a secret is in the journal: %s", line)
		}
		if b, ok := r.Event.Body.(event.StartRun); ok && (b.Model != "m1" || b.Provider != "anthropic") {
			t.Errorf("model %q of provider %q", b.Model, b.Provider)
		}
	}
}

// What cannot be read is named and left out. It never makes the import read other files, wait or
// write anything.
func TestHostileFiles(t *testing.T) {
	good := func(f *fixture) {
		f.checkpoint(cp("cp1", "run1", "reader", "completed", 1, with(conversationOf("reader", "Go."), message("m3", "expertMessage", text("Done."))), nil), 1000, "", nil)
	}
	for name, c := range map[string]struct {
		write func(t *testing.T, f *fixture)
		note  string
		err   string
	}{
		"not JSON":       {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", "{") }, "bad.json: ", ""},
		"names twice":    {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", `{"id":"bad","id":"worse"}`) }, "duplicate", ""},
		"another job":    {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", cpOf("jobId", "../job2")) }, "it is of job", ""},
		"path as run id": {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", cpOf("runId", "../../x")) }, "invalid id", ""},
		"another id":     {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", cpOf("id", "good")) }, "it is of checkpoint good", ""},
		"negative step":  {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", cpOf("stepNumber", -1)) }, "negative", ""},
		"no Expert":      {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", cpOf("expert", object{})) }, "no Expert", ""},
		"unknown status": {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", cpOf("status", "odd")) }, "", "status"},
		"unknown part": {func(t *testing.T, f *fixture) {
			f.write("job1/checkpoints/bad.json", cpOf("messages", with(nil, message("q", "userMessage", object{"type": "odd"}))))
		}, "", "unknown type"},
		"null message": {func(t *testing.T, f *fixture) { f.write("job1/checkpoints/bad.json", cpOf("messages", []any{nil})) }, "", "null"},
		"wrong order": {func(t *testing.T, f *fixture) {
			f.write("job1/checkpoints/bad.json", cpOf("messages", with(nil, message("q", "toolMessage", toolResult("c", "x", "y")))))
		}, "", "order"},
		"bad run": {func(t *testing.T, f *fixture) { f.write("job1/runs/CON/run-setting.json", "{}") }, "invalid id", ""},
		"bad setting": {func(t *testing.T, f *fixture) {
			f.write("job1/runs/run1/run-setting.json", `{"perstackApiKey":"sk-1234567890",`)
		},
			"run-setting.json: it is not a run setting", ""},
		"link outside": {func(t *testing.T, f *fixture) {
			symlink(t, "/etc/hostname", filepath.Join(f.base, "jobs/job1/checkpoints/bad.json"))
		}, "not a regular file", ""},
		"linked directory": {func(t *testing.T, f *fixture) {
			symlink(t, t.TempDir(), filepath.Join(f.base, "jobs/job1/runs"))
		}, "", "jobs/job1/runs is a link, which is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			good(f)
			c.write(t, f)
			_, _, notes, err := f.imported(nil)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			if (len(notes) == 0) != (c.note == "") || c.note != "" && !strings.Contains(join(notes), c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

// cpOf is a checkpoint "bad" in which one member is another.
func cpOf(name string, value any) object {
	return cp("bad", "run9", "reader", "proceeding", 9, conversationOf("other", "Go."), object{name: value})
}

func TestWhichDirectoriesHaveJobs(t *testing.T) {
	f := newFixture(t)
	f.reader(true)
	f.write("ours/journal.jsonl", "{}")
	f.write("ours/checkpoints/x.json", "{}")
	f.write(".hidden/checkpoints/x.json", "{}")
	f.write("bad id/checkpoints/x.json", "{}")
	h, err := Open(filepath.Dir(f.base)) // the project
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	jobs, problems := h.Jobs()
	if len(jobs) != 1 || jobs[0].ID != "job1" || len(problems) != 1 || !errors.Is(problems[0], store.ErrBadID) {
		t.Errorf("%v, %v", jobs, problems)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("a directory that does not exist was opened")
	}
}

// What could be a job and is not read is named, whatever else is beside it.
func TestRefusedDirectories(t *testing.T) {
	link := func(target, name string) func(*testing.T, *fixture) {
		return func(t *testing.T, f *fixture) { symlink(t, target, filepath.Join(f.base, "jobs", name)) }
	}
	outside := t.TempDir()
	if err := os.Mkdir(filepath.Join(outside, "checkpoints"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		write func(*testing.T, *fixture)
		want  string // "" if it is no job
	}{
		"a link outside":          {link(outside, "x"), "job x: jobs/x is a link, which is not followed; "},
		"a link to another job":   {link("job1", "x"), "job x: jobs/x is a link, which is not followed; "},
		"a link to nothing":       {link("nothing", "x"), "job x: jobs/x is a link, which is not followed; "},
		"a link to a job of ours": {link("ours", "x"), ""},
		"a link with a bad id":    {link(outside, "bad id"), `job "bad id": invalid id "bad id"`},
		"linked checkpoints": {func(t *testing.T, f *fixture) {
			f.write("x/job.json", "{}")
			link(filepath.Join(outside, "checkpoints"), "x/checkpoints")(t, f)
		}, "job x: jobs/x/checkpoints is a link, which is not followed; "},
		"a file as checkpoints": {func(_ *testing.T, f *fixture) { f.write("x/checkpoints", "") }, "job x: jobs/x/checkpoints is not a directory"},
		"without a right": {func(t *testing.T, f *fixture) {
			if os.Geteuid() <= 0 { // root can read everything, and Windows has no such modes
				t.Skip("the directory can be read")
			}
			f.write("x/checkpoints/a.json", "{}")
			if err := os.Chmod(filepath.Join(f.base, "jobs/x"), 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(filepath.Join(f.base, "jobs/x"), 0o700) })
		}, "job x: jobs/x/checkpoints: permission denied"},
		"a file":          {func(_ *testing.T, f *fixture) { f.write("x", "") }, ""},
		"another program": {func(_ *testing.T, f *fixture) { f.write("x/data", "") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.reader(true)
			f.write("ours/journal.jsonl", "{}")
			c.write(t, f)
			h, err := Open(f.base)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			jobs, problems := h.Jobs()
			if len(jobs) != 1 || jobs[0].ID != "job1" {
				t.Errorf("jobs %v", jobs)
			}
			if got := errors.Join(problems...); (got == nil) != (c.want == "") || got != nil && !strings.HasPrefix(got.Error(), c.want) {
				t.Errorf("problems %v, want %q", got, c.want)
			}
		})
	}
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
}
