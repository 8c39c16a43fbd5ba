package log

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
	"github.com/perstack-go/perstack/store/memory"
)

// fileStore has the three kinds of jobs: ended, interrupted, and one under way.
func fileStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "storage")
	s := file.New(dir, nil)
	tellLong(t, s)
	tellBroken(t, s).end()
	live := begin(t, s, "livejob", "run5", "writer", noon)
	live.start("Write", "cp7", nil)
	live.tell(event.StartGeneration{})
	t.Cleanup(live.end)
	return dir
}

// snapshot describes everything below dir, contents included.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&all, "%s %s %d %s\n%s\n", path, info.Mode(), info.Size(), info.ModTime(), data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestReadsBesideAWriterAndWritesNothing(t *testing.T) {
	dir := fileStore(t)
	before := snapshot(t, dir)
	for args, want := range map[string]string{
		"--json":                       `"status":"interrupted"`,
		"livejob":                      "Job: livejob (running)",
		"livejob --json":               `"type":"startGeneration"`,
		"brokenjob":                    "Job: brokenjob (interrupted)",
		"longjob --records":            `"seq":1`,
		"--checkpoint cp1":             "Checkpoint: cp1",
		"--latest --summary --verbose": "Job: brokenjob",
		"longjob --tree":               "planner  run2 (head)  stoppedByError",
		"livejob --tree":               "writer  run5 (head)  running, 1 step",
		"brokenjob --tree --json":      `"status":"interrupted"`,
	} {
		out, errOut, code := perstackLog(t, nil, append(strings.Fields(args), "--storage", dir)...)
		if !strings.Contains(out, want) || errOut != "" || code != 0 {
			t.Errorf("log %s: code %d, stderr %q, stdout without %q:\n%s", args, code, errOut, want, out)
		}
	}
	if out, errOut, code := perstackLog(t, nil, "--storage", dir); code != 0 || !strings.Contains(out, "livejob    running  ") || !strings.Contains(out, "longjob    stoppedByError (not sealed)  ") ||
		strings.Contains(out, "running (") || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "log brokenjob --verify") {
		t.Errorf("list: code %d, stderr %q, stdout:\n%s", code, errOut, out)
	}
	// No program with a key has written it.
	if _, errOut, code := perstackLog(t, nil, "longjob", "--verify", "--storage", dir); code != 1 || !strings.Contains(errOut, "job longjob is not sealed: record 1 has no seal") || !strings.Contains(errOut, "chain of all 30 records is intact") {
		t.Errorf("verify: code %d, %s", code, errOut)
	}
	if after := snapshot(t, dir); after != before {
		t.Error("the storage directory was changed")
	}
}

func TestStorageFromEnvironment(t *testing.T) {
	dir := fileStore(t)
	var out bytes.Buffer
	h := &host.Host{Stdout: &out, Stderr: &out, Dir: t.TempDir(), Home: t.TempDir(), Environ: []string{"PERSTACK_STORAGE_PATH=" + dir},
		Source: engine.FixedSource(noon)}
	cmd := New(h, nil)
	cmd.SetArgs([]string{})
	if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "longjob") {
		t.Errorf("%v, output %s", err, out.String())
	}
}

func TestDamagedJournal(t *testing.T) {
	dir := fileStore(t)
	journal := filepath.Join(dir, "jobs", "longjob", "journal.jsonl")
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.SplitAfter(data, []byte("\n"))
	write := func(t *testing.T, records ...[]byte) {
		t.Helper()
		if err := os.WriteFile(journal, bytes.Join(records, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	changed := bytes.Replace(all[3], []byte("readTextFile"), []byte("REadTextFile"), 1)
	for name, records := range map[string][][]byte{
		"changed": slices.Concat(all[:3], [][]byte{changed}, all[4:]),
		"cut":     all[:4],
	} {
		t.Run(name, func(t *testing.T) {
			first := map[string]string{"changed": "damaged at record 4", "cut": "damaged at record 5"}[name]
			write(t, records...)
			for args, want := range map[string]string{
				"longjob":           "● Query\n",
				"longjob --events":  "[Step 1] startRun",
				"longjob --json":    `"type":"startRun"`,
				"longjob --records": `"seq":1`,
				"longjob --tree":    "planner  run1",
				"longjob --verify":  "",
				"":                  "longjob    unreadable",
			} {
				if name == "changed" && args == "" {
					continue // the list trusts the part of a journal that it has summed up before
				}
				out, errOut, code := perstackLog(t, nil, append(strings.Fields(args), "--storage", dir)...)
				if code != host.ExitFailure || !strings.Contains(out, want) || !strings.Contains(errOut, "journal of job longjob is "+first) {
					t.Errorf("log %s: code %d, stderr %q, stdout %.200q", args, code, errOut, out)
				}
			}
			if out, _, _ := perstackLog(t, nil, "longjob", "--storage", dir); !strings.HasPrefix(out, "Job: longjob (damaged)\n") {
				t.Errorf("the status is missing:\n%s", out)
			}
		})
	}
	t.Run("first", func(t *testing.T) {
		write(t, append([][]byte{[]byte("{}\n")}, all[1:]...)...)
		out, errOut, code := perstackLog(t, nil, "longjob", "--storage", dir)
		if code != host.ExitFailure || out != "" || !strings.Contains(errOut, "damaged at record 1") {
			t.Errorf("code %d, stderr %q, stdout %q", code, errOut, out)
		}
	})
}

func TestCompletion(t *testing.T) {
	dir := fileStore(t)
	cmd := New(&host.Host{Dir: dir, Home: t.TempDir(), Environ: []string{"PERSTACK_STORAGE_PATH=" + dir}}, nil)
	cmd.SetContext(t.Context())
	got, directive := cmd.ValidArgsFunction(cmd, nil, "")
	want := []string{"brokenjob\tinterrupted, @acme/builder", "livejob\trunning, writer", "longjob\tstoppedByError, planner"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("completions = %q, want %q", got, want)
	}
	if directive&cobra.ShellCompDirectiveKeepOrder == 0 {
		t.Error("the shell may sort the jobs")
	}
	if got, _ := cmd.ValidArgsFunction(cmd, []string{"longjob"}, ""); got != nil {
		t.Errorf("completions of a second argument = %q", got)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestClosedOutputIsQuiet(t *testing.T) {
	dir := fileStore(t)
	for _, args := range []string{"", "--json", "longjob", "longjob --json", "longjob --records", "--checkpoint cp1", "longjob --tree", "longjob --tree --json"} {
		var errOut bytes.Buffer
		h := &host.Host{Stdout: closedPipe{}, Stderr: &errOut, Dir: dir, Home: t.TempDir(), Source: engine.FixedSource(noon)}
		h.GuardStdout()
		cmd := New(h, nil)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(strings.Fields(args), "--storage", dir))
		err := cmd.ExecuteContext(t.Context())
		if host.ExitCode(err) != host.ExitFailure || host.Describe(err)+errOut.String() != "" {
			t.Errorf("log %s: %v, stderr %q", args, err, errOut.String())
		}
	}
}

func TestRunsAreCompleted(t *testing.T) {
	dir := fileStore(t)
	tellTeam(t, file.New(dir, nil))
	cmd := New(&host.Host{Dir: dir, Home: t.TempDir(), Environ: []string{"PERSTACK_STORAGE_PATH=" + dir}}, nil)
	cmd.SetContext(t.Context())
	completion, ok := cmd.GetFlagCompletionFunc("run")
	if !ok {
		t.Fatal("--run has no completion")
	}
	got, _ := completion(cmd, []string{"teamjob"}, "")
	want := []string{"lead1\tlead", "finder1\tfinder", "hotels1\thotels", "times1\ttimes", "lead2\tlead", "lead3\tlead", "finder2\tfinder"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("completions = %q, want %q", got, want)
	}
	for _, job := range []string{"nojob", "../x", ""} {
		if got, _ := completion(cmd, []string{job}, ""); got != nil {
			t.Errorf("completions of job %q = %q", job, got)
		}
	}
	if got, _ := completion(cmd, nil, ""); got != nil {
		t.Errorf("completions without a job = %q", got)
	}
}

// hostile holds the ways in which text can act on a terminal.
const hostile = "a\x1b[31mred\x1b[2J\x1b]0;title\x07\u009b31m\x7f\x08\rover\u202e\u2066txt.exe\u2069\u200f\u061c\u2028\ufeff\n[Step 9] completeRun forged"

func TestHostileText(t *testing.T) {
	s := memory.New()
	st := begin(t, s, "job1", "r"+hostile, hostile, noon)
	c := tool(hostile, hostile, hostile)
	st.start(hostile, "cp"+hostile, nil)
	turn := call(`{"a":"`+"\u202e\u009b"+`"}`, c)
	turn.NewMessage.Contents = append(turn.NewMessage.Contents, event.Part{Type: event.ThinkingPart, Thinking: hostile}, event.Part{Type: event.TextPart, Text: hostile})
	st.tell(event.StartGeneration{}, event.Retry{Reason: hostile}, turn)
	st.answer(c, hostile)
	st.tell(event.ResolveToolResults{}, event.CallDelegate{ToolCalls: []event.ToolCall{c}},
		event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: hostile, RunID: "kid" + hostile, Expert: event.ExpertRef{Key: hostile}, Query: hostile,
			From: &event.Origin{RunID: hostile, CheckpointID: hostile}}}}, event.CallInteractiveTool{ToolCallID: hostile},
		event.LimitWarning{Limit: hostile}, event.DefinitionChanged{Expert: hostile, Before: hostile, After: hostile},
		event.ProxyAccess{Action: hostile, Domain: hostile, Reason: hostile, Listener: hostile},
		event.SandboxCheck{Check: hostile, Message: hostile}, event.DockerBuildProgress{Stage: hostile, Service: hostile, Message: hostile},
		event.DockerContainerStatus{Status: hostile, Service: hostile, Message: hostile},
		event.FinishToolCall{ToolMessage: &event.ToolMessageRef{}}, event.ContinueToNextStep{NextCheckpointID: "cp2"},
		event.StopRunByInterrupt{Reason: hostile}, event.StopRunByLimit{Limit: hostile},
		event.StopRunByError{Error: event.Failure{Name: hostile, Message: hostile}},
		event.CompleteRun{NewMessage: say(event.ExpertMessage, hostile)})
	st.end()
	st = begin(t, s, "job2", "r"+hostile, hostile, noon)
	st.start(hostile, "cp3", nil)
	st.tell(event.StartGeneration{}, call(`{"a":"`+"\u202e\u009b"+`"}`, c), event.CallInteractiveTool{ToolCallID: hostile}, event.StopRunByInteractiveTool{})
	st.end()
	for _, args := range []string{"", "job2", "job2 --verbose", "job2 --events", "job1", "job1 --verbose --summary", "job1 --events", "job1 --events --verbose", "job1 --checkpoint cp2 --messages", "job1 --checkpoint cp2 --messages --verbose", "--json", "job1 --json", "job1 --records",
		"job1 --delegations", "job1 --tree", "job1 --tree --json", "job2 --tree"} {
		out, errOut, code := terminalLog(t, s, strings.Fields(args)...)
		if code != 0 || !strings.Contains(out, "red") {
			t.Errorf("log %s: code %d, stderr %q, stdout %q", args, code, errOut, out)
		}
		for i, r := range out {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || strings.ContainsRune("\u2028\u2029\ufeff", r)) {
				t.Fatalf("log %s: %U reached the output: %q", args, r, out[max(0, i-40):min(len(out), i+40)])
			}
		}
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, "[Step 9]") {
				t.Errorf("log %s: a forged event: %q", args, l)
			}
		}
	}
}

// terminalLog is perstackLog for a user at a terminal without colours.
func terminalLog(t *testing.T, s store.Store, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	h := &host.Host{Stdout: &out, Stderr: &errOut, StdoutIsTerminal: true, Width: 80, Environ: []string{"NO_COLOR=1"}, Dir: t.TempDir(), Home: t.TempDir(), Source: engine.FixedSource(noon)}
	cmd := New(h, func(ctx context.Context, opts *Options) error {
		opts.Store = s
		return run(ctx, opts)
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String() + host.Describe(err), host.ExitCode(err)
}
