package examples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/testkit/node"
	"github.com/perstack-go/perstack/store/file"
)

// A played command is one that an example shows in its first comment.
type played struct {
	code int
	says string // a part of its output
}

// What the commands of each example do, in their order. Those that need a real model
// are refused, and say so; when a version can run them, this table must be updated
// together with the comment.
var commands = map[string][]played{
	"organiser": {
		{host.ExitUsage, "ANTHROPIC_API_KEY is not set"},
		{host.ExitOK, "Your inbox is empty."},
		{host.ExitOK, "7 of 20"},
	},
	"research": {
		{host.ExitOK, "Found 1 tool"},
		{host.ExitOK, "No findings"},
		{host.ExitUsage, "ANTHROPIC_API_KEY is not set"},
		{host.ExitOK, `thoughtHistoryLength\": 2`}, // as only the server can know
	},
	"interviewer": {
		{host.ExitUsage, "ANTHROPIC_API_KEY is not set"},
		{host.ExitUsage, "no job to continue"},
		{host.ExitWaiting, "What is your name?"},
		{host.ExitWaiting, "What will you speak about?"},
		{host.ExitOK, "Your portrait is in portrait.md."},
	},
	"team": {
		{host.ExitUsage, "ANTHROPIC_API_KEY is not set"},
		{host.ExitOK, "article.md is done"},
		{host.ExitOK, "→ reviewer"},
		{host.ExitOK, "Expert researcher 1.0.0"},
	},
	"survey": {
		{host.ExitUsage, "ANTHROPIC_API_KEY is not set"},
		{host.ExitOK, "Three points, in survey.md."},
		{host.ExitOK, "→ proofreader"},
	},
}

// What the examples leave behind.
var files = map[string]string{
	"organiser":   "invoices/2026-03-01-water.txt",
	"research":    "answer.md",
	"interviewer": "portrait.md",
	"team":        "article.md",
	"survey":      "survey.md",
}

// The Runs in the history of an example and their callers, in alphabetical order;
// empty for an example that does not delegate.
var runs = map[string][]string{
	"team":   {"lead", "researcher for lead", "reviewer for lead"},
	"survey": {"editor", "newcomer for editor", "proofreader for editor", "sceptic for editor"},
}

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// environ is what an example needs to run: for most nothing, since they start nothing.
func environ(t *testing.T, name string) []string {
	if name != "research" {
		return nil
	}
	home := t.TempDir()
	return append(node.Need(t).Variables(os.Getenv("PATH")), "HOME="+home, "PERSTACK_CACHE_PATH="+filepath.Join(home, "cache"))
}

// Every command that an example tells its reader to type does what is said here, and asks about no
// tool call.
func TestExamplesPlay(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("*", manifest.FileName))
	if err != nil || len(paths) != len(commands) {
		t.Fatalf("%d examples, but %d are known here (%v)", len(paths), len(commands), err)
	}
	for _, path := range paths {
		name := filepath.Dir(path)
		t.Run(name, func(t *testing.T) {
			dir, home, environ := t.TempDir(), t.TempDir(), environ(t, name)
			if err := os.CopyFS(dir, os.DirFS(name)); err != nil {
				t.Fatal(err)
			}
			shown := shownCommands(t, path)
			if len(shown) != len(commands[name]) {
				t.Fatalf("%s shows %d commands, but %d are known here", path, len(shown), len(commands[name]))
			}
			for i, want := range commands[name] {
				var out bytes.Buffer
				code := cli.Main(t.Context(), &host.Host{
					Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
					Dir: dir, Home: home, Command: "perstack", Source: engine.SystemSource(), Environ: environ,
				}, shown[i])
				if code != want.code || !strings.Contains(out.String(), want.says) {
					t.Errorf("perstack %q ended with %d, want %d and %q:\n%s", shown[i], code, want.code, want.says, out.String())
				}
			}
			if file := files[name]; file != "" {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
			got := completedRuns(t, home, dir)
			if want := runs[name]; want != nil && !slices.Equal(got, want) {
				t.Errorf("completed %q, want %q", got, want)
			}
		})
	}
}

// completedRuns lists the completed Runs of the only job of the project in dir, with the Expert
// of each and of its caller.
func completedRuns(t *testing.T, home, dir string) (all []string) {
	t.Helper()
	state, err := state.Find(runtime.GOOS, home, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	project, err := state.Project(dir)
	if err != nil {
		t.Fatal(err)
	}
	history := file.New(project.State, nil)
	for job, err := range history.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names := make(map[string]string) // by the id of the Run
		for record, err := range history.Read(t.Context(), job.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := record.Event.Body.(type) {
			case event.StartRun:
				if names[record.Event.RunID] != "" {
					continue // it continues with answers
				}
				names[record.Event.RunID] = record.Event.ExpertKey
				if b.DelegatedBy != nil {
					names[record.Event.RunID] += " for " + b.DelegatedBy.Expert.Key
				}
			case event.ApprovalRequested:
				t.Errorf("%s is asked about: %+v", names[record.Event.RunID], b.Effect)
			case event.CompleteRun:
				all = append(all, names[record.Event.RunID])
			}
		}
	}
	slices.Sort(all)
	return all
}

// shownCommands are the arguments of each "#   perstack …" line at the top of a file.
func shownCommands(t *testing.T, path string) (all [][]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "#   perstack ")
		if !ok {
			continue
		}
		var args []string
		for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(command, -1) {
			args = append(args, strings.Trim(word, `"`))
		}
		all = append(all, args)
	}
	return all
}
