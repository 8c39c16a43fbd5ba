package log

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// perstackLog runs the command on a store.
func perstackLog(t *testing.T, s store.Store, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	h := &host.Host{Stdout: &out, Stderr: &errOut, Dir: t.TempDir(), Home: t.TempDir(), Command: "perstack",
		Source: engine.FixedSource(noon.Add(24*time.Hour + time.Minute))}
	cmd := New(h, func(ctx context.Context, opts *Options) error {
		opts.Store = s
		return run(ctx, opts)
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...)) // nil would stand for those of the test
	err := cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String() + host.Describe(err), host.ExitCode(err)
}

// Each case prints to testdata/<name>.golden.
func TestGolden(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	tellTalk(t, s)
	tellBroken(t, s).end()
	tellTeam(t, s)
	tellQueue(t, s).end()
	for _, test := range []struct{ name, args string }{
		{"list", ""},
		{"list_take", "--take 1 --offset 1"},
		{"job", "longjob --events"},
		{"job_verbose", "longjob --verbose --run run1 --events"},
		{"job_interrupted", "brokenjob --events"},
		{"job_summary", "longjob --summary --take 1 --events"},
		{"job_talk", "talkjob --events"},
		{"job_talk_verbose", "talkjob --verbose --events"},
		{"talk_errors", "talkjob --errors --summary --events"},
		{"talk_tools", "talkjob --tools --events"},
		{"talk_messages", "--checkpoint t1 --messages"},
		{"talk_messages_verbose", "--checkpoint t1 --messages --verbose"},
		{"tools", "longjob --tools --events"},
		{"latest", "--latest --type startRun --events"},
		{"run", "--run run2 --events"},
		{"step", "longjob --step 2-3 --events"},
		{"errors", "longjob --errors --events"},
		{"errors_tools", "longjob --errors --tools --events"},
		{"type", "longjob --type startRun --type completeRun --events"},
		{"take", "longjob --take 2 --offset 3 --events"},
		{"offset_beyond", "longjob --offset 1000 --events"},
		{"no_match", "longjob --delegations --events"},
		{"checkpoint", "longjob --checkpoint cp2"},
		{"checkpoint_messages", "--checkpoint cp1 --messages"},
		{"checkpoint_verbose", "--checkpoint cp1 --messages --verbose"},
		{"verify", "longjob --verify"},
		{"team", "teamjob --summary --take 0 --events"},
		{"team_delegations", "teamjob --delegations --events"},
		{"team_errors", "teamjob --errors --events"},
		{"team_run", "--run finder2 --verbose --events"},
		{"queue", "queuejob --events"},
		{"transcript", "longjob"},
		{"transcript_summary", "longjob --summary --take 2"},
		{"transcript_verbose", "longjob --verbose --run run1"},
		{"transcript_interrupted", "brokenjob"},
		{"transcript_talk", "talkjob"},
		{"transcript_team", "teamjob"},
		{"transcript_team_run", "teamjob --run finder1"},
		{"transcript_queue", "queuejob"},
		{"transcript_tools", "longjob --tools"},
		{"transcript_errors", "teamjob --errors"},
		{"transcript_delegations", "teamjob --delegations"},
		{"transcript_type", "longjob --type callTools"},
		{"transcript_step", "longjob --step 2-3"},
		{"transcript_offset", "longjob --take 3 --offset 2"},
		{"transcript_context", "longjob --type retry --type definitionChanged --context 1"},
		{"events_context", "longjob --events --type retry --type stopRunByError --context 1"},
		{"transcript_no_match", "longjob --type skillStderr"},
		{"tree", "teamjob --tree"},
		{"tree_json", "teamjob --tree --json"},
		{"tree_run", "--run finder1 --tree"},
		{"tree_long", "longjob --tree"},
		{"tree_talk", "talkjob --tree"},
		{"tree_queue", "queuejob --tree"},
		{"tree_broken", "brokenjob --tree"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, errOut, code := perstackLog(t, s, strings.Fields(test.args)...)
			if errOut != "" || code != 0 {
				t.Errorf("log %s: code %d, stderr %q", test.args, code, errOut)
			}
			testkit.Golden(t, test.name+".golden", out)
		})
	}
}

func TestUsageErrors(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	for _, test := range []struct{ args, want string }{
		{"nojob", "no such job: nojob; perstack log lists the jobs"},
		{"nojob --json", "no such job: nojob; perstack log lists the jobs"},
		{"nojob --verify", "no such job: nojob; perstack log lists the jobs"},
		{"nojob --checkpoint cp1", "no such job: nojob; perstack log lists the jobs"},
		{"../longjob", `invalid id "../longjob"`},
		{"--job /etc/passwd", `invalid id "/etc/passwd"`},
		{"--job=", `invalid id ""`},
		{"a b", "one job at a time"},
		{"longjob --job other", "two jobs are named"},
		{"longjob --latest", "--latest and a job exclude each other"},
		{"longjob --run ../x", `--run: invalid id "../x"`},
		{"longjob --run norun", "no run norun in job longjob; perstack log longjob shows its runs"},
		{"--run norun", "no job has a run norun"},
		{"longjob --checkpoint nocp", "checkpoint not found: nocp"},
		{"--checkpoint nocp", "no job has a checkpoint nocp"},
		{"longjob --take -1", "must not be negative"},
		{"longjob --messages", "add --checkpoint <id>"},
		{"longjob --json --records", "--json does not go with --records"},
		{"longjob --json --events", "--events does not go with --json"},
		{"longjob --tree --events", "--events does not go with --tree"},
		{"longjob --json --summary", "--summary does not go with --json"},
		{"longjob --json --verbose", "--verbose does not go with --json"},
		{"longjob --verify --json", "--json does not go with --verify"},
		{"longjob --checkpoint cp1 --step 3", "--step does not go with --checkpoint"},
		{"longjob --context 2", "add --filter, --errors or another flag that selects"},
		{"longjob --errors --context -1", "must not be negative"},
		{"longjob --tree --context 2", "--context does not go with --tree"},
		{"longjob --tree --filter .", "--filter does not go with --tree"},
		{"longjob --verify --filter .", "--filter does not go with --verify"},
		{"longjob --filter .type==}", `--filter: line 1, column 8: unexpected token "}"`},
		{"longjob --filter $ENV.HOME|input", "--filter: line 1, column 11: an expression sees one event"},
		{"longjob --filter=", "--filter: line 1, column 1: missing query"},
		{"longjob --type callTool", `there is no event type "callTool"; did you mean callTools?`},
		{"longjob --type CALLTOOLS", "did you mean callTools?"},
		{"longjob --type startRun --type sandboxChck", "did you mean sandboxCheck?"},
		{"longjob --type foo --json", `there is no event type "foo"; press tab`},
		{"longjob --type=", `there is no event type ""`},
	} {
		out, errOut, code := perstackLog(t, s, strings.Fields(test.args)...)
		if code != host.ExitUsage || out != "" || !strings.Contains(errOut, test.want) {
			t.Errorf("log %s: code %d, stdout %q, stderr %q, want %q", test.args, code, out, errOut, test.want)
		}
	}
}

func TestNothing(t *testing.T) {
	for args, want := range map[string]string{
		"--storage /nowhere":          "No data found in /nowhere\n",
		"--storage /nowhere --latest": "No data found in /nowhere\n",
		"--storage /nowhere --run r":  "No data found in /nowhere\n",
		"--json":                      "",
		"--latest --json":             "",
	} {
		// A storage directory that does not exist is like an empty one.
		for _, s := range []store.Store{memory.New(), nil} {
			out, errOut, code := perstackLog(t, s, strings.Fields(args)...)
			if out != want || errOut != "" || code != 0 {
				t.Errorf("log %s: stdout %q, stderr %q, code %d, want %q", args, out, errOut, code, want)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args string
		want Options
	}{
		{"", Options{Take: 100}},
		{"j", Options{Job: "j", Take: 100}},
		{"--job j", Options{Job: "j", Take: 100}},
		{"j --job j --verbose --summary", Options{Job: "j", Take: 100, Verbose: true, Summary: true}},
		{"j --events", Options{Job: "j", Events: true, Take: 100}},
		{"--events", Options{Latest: true, Events: true, Take: 100}},
		{"j --json", Options{Job: "j", JSON: true}},
		{"j --json --take 5 --offset 2", Options{Job: "j", JSON: true, Take: 5, Offset: 2}},
		{"j --records", Options{Job: "j", Records: true}},
		{"j --tree", Options{Job: "j", Tree: true, Take: 100}},
		{"j --tree --run r --json", Options{Job: "j", Run: "r", Tree: true, JSON: true}},
		{"--latest --verify --storage dir", Options{Latest: true, Verify: true, Storage: "dir", Take: 100}},
		{"--checkpoint c --messages", Options{Checkpoint: "c", Messages: true, Take: 100}},
		{"j --type retry --type startRun --errors --tools --delegations", Options{Job: "j", Take: 100,
			Filter: Filter{Types: []string{"retry", "startRun"}, Errors: true, Tools: true, Delegations: true}}},
	} {
		var got Options
		cmd := New(nil, func(_ context.Context, opts *Options) error { got = *opts; return nil })
		cmd.SetArgs(strings.Fields(test.args))
		if err := cmd.Execute(); err != nil {
			t.Errorf("log %s: %v", test.args, err)
		}
		got.Store = nil
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Steps{})); diff != "" {
			t.Errorf("log %s (-want +got):\n%s", test.args, diff)
		}
	}
}

func TestSteps(t *testing.T) {
	for _, test := range []struct {
		expr     string
		min, max int
		err      string
	}{
		{"3", 3, 3, ""},
		{" 3 - 5 ", 3, 5, ""},
		{">3", 4, 1<<63 - 1, ""},
		{">= 3", 3, 1<<63 - 1, ""},
		{"<3", 0, 2, ""},
		{"<=3", 0, 3, ""},
		{"5-3", 0, 0, "5 is greater than 3"},
		{"", 0, 0, "invalid step filter"},
		{"x", 0, 0, "invalid step filter"},
		{"-3", 0, 0, "invalid step filter"},
		{"+3", 0, 0, "invalid step filter"},
		{"=>3", 0, 0, "invalid step filter"},
		{"3-", 0, 0, "invalid step filter"},
		{"99999999999999999999", 0, 0, "invalid step filter"},
	} {
		var s Steps
		err := s.Set(test.expr)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("Set(%q) = %v, want %q", test.expr, err, test.err)
			}
		case err != nil || s.min != test.min || s.max != test.max:
			t.Errorf("Set(%q) = %d to %d, %v, want %d to %d", test.expr, s.min, s.max, err, test.min, test.max)
		}
	}
}
