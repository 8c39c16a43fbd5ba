package jobs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// noon is when the commands are called.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// A project is one with a history, and a user.
type project struct {
	t          *testing.T
	path, home string
	dir        string // of the history
	store      *file.Store
	sealed     store.Store // the same, with the user's key

	typed    string // by the user, on a terminal
	terminal bool
	width    int
}

func newProject(t *testing.T) *project {
	dir := t.TempDir()
	p := &project{t: t, path: t.TempDir(), home: t.TempDir(), dir: dir, store: file.New(dir, nil)}
	place, err := p.host().History(dir, "", p.path)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := place.Sealer()
	if err != nil {
		t.Fatal(err)
	}
	p.sealed = p.store.WithSeal(sealer)
	return p
}

func (p *project) host() *host.Host {
	return &host.Host{
		Stdin: strings.NewReader(p.typed), StdinIsTerminal: p.terminal, StderrIsTerminal: p.terminal, Width: p.width,
		Dir: p.path, Home: p.home, Command: "perstack", Source: engine.FixedSource(noon),
	}
}

// perstack calls perstack jobs.
func (p *project) perstack(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, errOut bytes.Buffer
	h := p.host()
	h.Stdout, h.Stderr = &out, &errOut
	cmd := New(h, nil, nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if len(args) == 0 || args[0] != "key" {
		args = append(args, "--storage", p.dir)
	}
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(p.t.Context())
	return out.String(), errOut.String() + host.Describe(err), host.ExitCode(err)
}

// record records a job whose last event happened so long before noon.
func (p *project) record(id, expert, query string, ago time.Duration, last event.Body) {
	p.t.Helper()
	j := p.start(id, expert, query, ago, last)
	if err := j.Close(); err != nil {
		p.t.Fatal(err)
	}
}

// start is record for a job that runs until its journal is closed.
func (p *project) start(id, expert, query string, ago time.Duration, last event.Body) store.Journal {
	p.t.Helper()
	j, err := p.sealed.Open(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	input := event.Message{ID: "m", Type: event.UserMessage, Contents: []event.Part{{ID: "p", Type: event.TextPart, Text: query}}}
	for i, b := range []event.Body{event.StartRun{CheckpointID: "c", Provider: "anthropic", Model: "claude-sonnet-4-5", InputMessages: []*event.Message{&input}}, event.StartGeneration{}, last} {
		if b == nil {
			continue
		}
		e := event.Event{ID: fmt.Sprint("e", i), JobID: id, RunID: "r", ExpertKey: expert, StepNumber: 1, Timestamp: noon.Add(-ago-time.Second).UnixMilli() + int64(i)*500, Body: b}
		if _, err := j.Append(p.t.Context(), e); err != nil {
			p.t.Fatal(err)
		}
	}
	return j
}

// done ends a job that used so many tokens.
func done(tokens int) event.Body {
	return event.CompleteRun{NewMessage: &event.Message{ID: "a", Type: event.ExpertMessage}, Usage: event.Usage{InputTokens: tokens, OutputTokens: tokens / 10}}
}

const day = 24 * time.Hour

// usual records what a history can contain.
func usual(t *testing.T) (p *project, stop func()) {
	p = newProject(t)
	p.record("r58pytq0", "writer", "Write the notes of the meeting.\nThey are in notes.txt; keep names out.", 3*time.Minute, done(5000))
	p.record("r58k2222", "finder@1.2.0", "Flights to Lisbon in May", 5*time.Hour, event.StopRunByInterrupt{})
	p.record("early-bird", "team/lead", "計画を立てる week\x1b[31m", 40*day, done(2_000_000))
	p.record("crashed-one", "writer", "", 400*day, nil)
	p.record("tiny-one", "writer", "hi", 2*day, done(10))
	running := p.start("running-one", "writer", "Take your time.", 10*time.Second, nil)
	return p, func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestList(t *testing.T) {
	p, stop := usual(t)
	defer stop()
	sealed := p.sealed
	p.sealed = p.store
	p.record("foreign-one", "writer", "Trust me", 500*day, done(10))
	p.sealed = sealed
	for _, test := range []struct {
		name, args string
		width      int
	}{
		{"list", "", 0},
		{"list_80", "list", 80},
		{"list_40", "", 40},
		{"list_page", "list -n 2 --offset 1", 100},
		{"list_last", "list --offset 6", 100},
		{"list_json", "list --json -n 2", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.width = test.width
			out, errOut, code := p.perstack(strings.Fields(test.args)...)
			if code != 0 {
				t.Errorf("code %d, %s", code, errOut)
			}
			for _, line := range strings.Split(out, "\n") {
				if test.width > 0 && len([]rune(line)) > test.width && !strings.HasPrefix(line, "(") {
					t.Errorf("too long: %s", line)
				}
			}
			testkit.Golden(t, test.name+".golden", out)
		})
	}
}

func TestListUsage(t *testing.T) {
	p := newProject(t)
	for args, want := range map[string]string{
		"list x":           "list takes no arguments",
		"x":                `unknown command "jobs x"`,
		"list -n -1":       "--take must not be negative, but is -1",
		"--offset -1":      "--offset must not be negative, but is -1",
		"prune":            "say which jobs to delete: --older 30d, --keep 20, or both",
		"prune --older 1":  "--older: \"1\" is not an age",
		"prune --keep -3":  "--keep must not be negative",
		"rm":               "name the jobs",
		"rm ../x":          "invalid id",
		"rm absent":        "no such job: absent; perstack jobs lists them",
		"delete something": `unknown command "jobs delete"`,
	} {
		out, errOut, code := p.perstack(strings.Fields(args)...)
		if code != host.ExitUsage || !strings.Contains(errOut, want) || out != "" {
			t.Errorf("%s: code %d, %q, printed %q", args, code, errOut, out)
		}
	}
	if out, errOut, code := p.perstack(); code != 0 || errOut != "" || !strings.HasPrefix(out, "No jobs in this project yet.") {
		t.Errorf("code %d, %q, %q", code, out, errOut)
	}
}

// A job that cannot be read is in the list, and the exit code says so.
func TestListUnreadable(t *testing.T) {
	p := newProject(t)
	p.record("good-one", "writer", "hi", day, done(10))
	p.record("bad-one", "writer", "hi", 2*day, done(10))
	if err := os.WriteFile(filepath.Join(p.dir, "jobs", "bad-one", "journal.jsonl"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := p.perstack()
	if code != host.ExitFailure || !strings.Contains(out, "unreadable") || !strings.Contains(out, "good") || !strings.Contains(errOut, "bad-one") {
		t.Errorf("code %d, %q, %q", code, out, errOut)
	}
	// It can be deleted by name. Prune leaves it.
	if out, errOut, code := p.perstack("prune", "--older", "1h", "--yes"); code != 0 || out != "deleted job good-one\n" || !strings.Contains(errOut, "kept 1 job that cannot be read") {
		t.Errorf("code %d, %q, %q", code, out, errOut)
	}
	if out, errOut, code := p.perstack("rm", "bad-", "--yes"); code != 0 || out != "deleted job bad-one\n" {
		t.Errorf("code %d, %q, %q", code, out, errOut)
	}
}

func (p *project) left() string {
	p.t.Helper()
	ids, err := p.store.JobIDs(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, id := range []string{"r58pytq0", "r58k2222", "early-bird", "crashed-one", "tiny-one", "running-one"} {
		for _, found := range ids {
			if found == id {
				all = append(all, id)
			}
		}
	}
	return strings.Join(all, " ")
}

const all = "r58pytq0 r58k2222 early-bird crashed-one tiny-one running-one"

// What is deleted was asked about, or --yes was given. A running job stays.
func TestRemove(t *testing.T) {
	for name, test := range map[string]struct {
		args     string
		terminal bool
		typed    string
		code     int
		left     string
		says     string // on stderr
	}{
		"no terminal":      {"rm early", false, "y\n", host.ExitUsage, all, "jobs rm deletes jobs for good; add --yes if that is meant"},
		"no":               {"rm early", true, "n\n", host.ExitUsage, all, "nothing was removed"},
		"no answer":        {"rm early", true, "", host.ExitUsage, all, "nothing was removed"},
		"enter":            {"rm early", true, "\n", host.ExitUsage, all, "nothing was removed"},
		"yes":              {"rm early", true, "y\n", 0, "r58pytq0 r58k2222 crashed-one tiny-one running-one", "Delete 1 job? What is deleted cannot be brought back. [y/N]"},
		"by a flag":        {"rm early tiny r58p --yes", false, "", 0, "r58k2222 crashed-one running-one", ""},
		"twice":            {"rm early early-bird -y", false, "", 0, "r58pytq0 r58k2222 crashed-one tiny-one running-one", ""},
		"one is absent":    {"rm early absent --yes", false, "", host.ExitUsage, all, "no such job: absent"},
		"ambiguous":        {"rm early r58 --yes", false, "", host.ExitUsage, all, "too short"},
		"one is running":   {"rm running tiny --yes", false, "", host.ExitFailure, "r58pytq0 r58k2222 early-bird crashed-one running-one", "job running-one is running, and is not deleted"},
		"all are running":  {"rm running", true, "y\n", host.ExitFailure, all, "job running-one is running, and is not deleted"},
		"prune asks":       {"prune --older 30d", true, "n\n", host.ExitUsage, all, "Delete 2 jobs?"},
		"prune needs yes":  {"prune --older 30d", false, "y\n", host.ExitUsage, all, "add --yes"},
		"prune old":        {"prune --older 30d --yes", false, "", 0, "r58pytq0 r58k2222 tiny-one running-one", ""},
		"prune and keep":   {"prune --older 1d --keep 5 --yes", false, "", 0, "r58pytq0 r58k2222 early-bird tiny-one running-one", ""},
		"keep":             {"prune --keep 2 --yes", false, "", 0, "r58pytq0 running-one", ""},
		"keep none":        {"prune --keep 0 --yes", false, "", 0, "running-one", "job running-one is running, and is not deleted"},
		"keep more":        {"prune --keep 20 --yes", false, "", 0, all, ""},
		"nothing is old":   {"prune --older 100w", false, "", 0, all, ""},
		"dry run":          {"prune --older 30d --dry-run", false, "", 0, all, ""},
		"dry run of all":   {"prune --keep 0 --dry-run", false, "", 0, all, "job running-one is running"},
		"not old any more": {"prune --older 41d --yes", false, "", 0, "r58pytq0 r58k2222 early-bird tiny-one running-one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, stop := usual(t)
			defer stop()
			p.terminal, p.typed = test.terminal, test.typed
			out, errOut, code := p.perstack(strings.Fields(test.args)...)
			if code != test.code || p.left() != test.left || !strings.Contains(errOut, test.says) || test.says == "" && errOut != "" {
				t.Errorf("code %d, left %s\n%s%s", code, p.left(), out, errOut)
			}
			notes, _ := os.ReadFile(filepath.Join(p.dir, "deleted.jsonl"))
			gone := 6 - len(strings.Fields(test.left))
			if n := strings.Count(string(notes), "\n"); n != gone || strings.Count(out, "deleted job ") != gone {
				t.Errorf("%d jobs are gone, %d noted, and it says %s", gone, n, out)
			}
			if strings.Contains(test.args, "dry-run") && !strings.Contains(out, "\nearl ") {
				t.Errorf("listed: %s", out)
			}
		})
	}
}

// A question names the jobs, but not thousands of them.
func TestManyAreNotNamed(t *testing.T) {
	p := newProject(t)
	for i := range 15 {
		p.record(fmt.Sprintf("job-%02d", i), "writer", "hi", time.Duration(i)*day, done(10))
	}
	p.terminal, p.typed = true, "n\n"
	_, errOut, _ := p.perstack("prune", "--keep", "1")
	if n := strings.Count(errOut, "\njob-"); n != mostShown || !strings.Contains(errOut, "... and 4 other jobs\nDelete 14 jobs?") {
		t.Errorf("%d named: %s", n, errOut)
	}
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * day, "12h": 12 * time.Hour, "8w": 56 * day, "90s": 90 * time.Second, "5m": 5 * time.Minute, "36500d": 36500 * day} {
		if got, err := parseAge(text); got != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "30", "d", "0d", "-1d", "+1d", "1.5d", "30D", "30 d", "1d12h", "1e3d", "36501d", "99999999999999999999d", "30é", "４d"} {
		if got, err := parseAge(text); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Hour: "now", 0: "now", time.Second: "1s", 59 * time.Second: "59s", time.Minute: "1m", 59*time.Minute + 59*time.Second: "59m", time.Hour: "1h", day: "1d", 364 * day: "364d", 365 * day: "1y", 800 * day: "2y"} {
		if got := age(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
