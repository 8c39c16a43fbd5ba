package run

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/job"
)

// parse returns the options that a command line gives.
func parse(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	var got *Options
	cmd := New(&host.Host{}, func(_ context.Context, o *Options) error {
		got = o
		return nil
	})
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return got, err
}

func TestFlags(t *testing.T) {
	none := Options{Events: eventsFull}
	with := func(change func(*Options)) Options {
		o := none
		change(&o)
		return o
	}
	tests := []struct {
		args string
		want Options
	}{
		{"writer", with(func(o *Options) { o.Expert = "writer" })},
		{"writer hello", with(func(o *Options) { o.Expert, o.Query, o.HasQuery = "writer", "hello", true })},
		{"writer -", with(func(o *Options) { o.Expert, o.Query, o.HasQuery = "writer", "-", true })},
		{"writer --json", with(func(o *Options) { o.Expert, o.Output = "writer", outputJSON })},
		{"--max-steps 3 writer --max-retries 0 --timeout=0", with(func(o *Options) {
			o.Expert, o.Flags.Limits.MaxSteps, o.Flags.Limits.MaxRetries, o.Flags.Limits.Timeout = "writer", 3, job.None, job.None
		})},
		{"writer q --max-tokens 5000000000 --max-cost 0.50 --max-duration 30m --max-depth 3 --max-parallel 1000", with(func(o *Options) {
			o.Expert, o.Query, o.HasQuery, o.Flags.Limits.MaxDepth, o.Flags.Limits.MaxParallel = "writer", "q", true, 3, 1000
			o.Flags.Limits.Limits = expert.Limits{MaxTokens: 5_000_000_000, MaxCost: 0.5, MaxDuration: 30 * time.Minute}
		})},
		{"writer --env-path a --env-path b q", with(func(o *Options) {
			o.Expert, o.Query, o.HasQuery, o.EnvPath = "writer", "q", true, []string{"a", "b"}
		})},
		{"writer q --max-workspace-bytes 5000000000", with(func(o *Options) {
			o.Expert, o.Query, o.HasQuery, o.Flags.Limits.MaxWorkspaceBytes = "writer", "q", true, 5_000_000_000
		})},
		{"writer --runtime docker --read-only-workspace --env A --env B,C --base-image debian:12 q", with(func(o *Options) {
			o.Expert, o.Query, o.HasQuery, o.Flags.Runtime = "writer", "q", true, job.Docker
			o.Flags.Isolation = job.Isolation{Env: []string{"A", "B,C"}, Container: job.Container{ReadOnlyWorkspace: true, BaseImage: "debian:12"}}
		})},
		{"--continue --read-only-workspace=false", with(func(o *Options) { o.Continue, o.Flags.WritableWorkspace = true, true })},
		{"--continue-job j --resume-from c -i", with(func(o *Options) { o.ContinueJob, o.ResumeFrom, o.IsAnswer = "j", "c", true })},
	}
	for _, tt := range tests {
		got, err := parse(t, strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got, cmpopts.IgnoreFields(Options{}, "Host"), cmpopts.IgnoreUnexported(Options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// A program that a job runs can start a job, and cannot answer all questions of it with yes.
func TestAllowAllInJob(t *testing.T) {
	h := &host.Host{Supervised: func() bool { return true }}
	for _, args := range [][]string{{"w", "q"}, {"w", "q", "--allow-all"}} {
		cmd := New(h, func(context.Context, *Options) error { return nil })
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		if refused := host.ExitCode(err) == host.ExitUsage && strings.Contains(err.Error(), "run --allow-all is for you"); refused != (len(args) == 3) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, args := range []string{"--max-steps 0", "--max-steps -1", "--max-steps x", "--max-retries -1", "--timeout -1", "--timeout 9223372036854775807", "--timeout 12abc",
		"--max-workspace-bytes 0", "--max-workspace-bytes -1", "--max-workspace-bytes 1GB", "--max-workspace-bytes 9223372036854775808"} {
		flag, _, _ := strings.Cut(args, " ")
		if _, err := parse(t, append([]string{"w", "q"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: error %v, want one about %s", args, err, flag)
		}
	}
}

func TestCheck(t *testing.T) {
	tests := []struct{ args, want string }{
		{"w q --output xml", "--output"},
		{"w q --events none", "--events"},
		{"w q --query-file f", "twice"},
		{"w q --continue --continue-job j", "exclude each other"},
		{"w q --continue --job-id j", "--job-id"},
		{"w q -i", "--continue"},
		{"w q --job-id a/b", "invalid id"},
		{"w q --continue-job ..", "invalid id"},
		{"w q --resume-from .x", "invalid id"},
		{"w q --runtime dokcer", `--runtime "dokcer" cannot be used; use local or docker`},
		{"w q --runtime cursor", `--runtime "cursor" cannot be used; use local or docker`},
		{"w q --base-image -x", "--base-image"},
		{"w q --base-image Debian", "lower case"},
	}
	for _, tt := range tests {
		o, err := parse(t, strings.Fields(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		err = o.check()
		if err == nil || !strings.Contains(err.Error(), tt.want) || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s: error %v, want a usage error about %q", tt.args, err, tt.want)
		}
	}
}

func TestAnswer(t *testing.T) {
	full := event.ToolAnswer{ToolCallID: "t1", ToolName: "ask", SkillName: "user", Text: "Tuesday"}
	tests := []struct {
		text string
		want event.ToolAnswer
	}{
		{"Tuesday", event.ToolAnswer{Text: "Tuesday"}},
		{`{"toolCallId":"t1","toolName":"ask","skillName":"user","text":"Tuesday"}`, full},
		{`{"day":"Tuesday"}`, event.ToolAnswer{Text: `{"day":"Tuesday"}`}},
		{`{"toolCallId":"t1","toolName":"ask","skillName":"user"}`, event.ToolAnswer{Text: `{"toolCallId":"t1","toolName":"ask","skillName":"user"}`}},
		{`{"toolCallId":"t1"}`, event.ToolAnswer{Text: `{"toolCallId":"t1"}`}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, *answer(tt.text)); diff != "" {
			t.Errorf("answer(%s) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestQueryLimit(t *testing.T) {
	o := &Options{Host: &host.Host{Stdin: strings.NewReader(strings.Repeat("x", maxQuery)), Stderr: io.Discard}, Query: "-", HasQuery: true}
	if q, err := o.query(t.Context()); err != nil || len(q) != maxQuery {
		t.Errorf("a query of %d bytes: %d bytes, %v", maxQuery, len(q), err)
	}
	o.Host.Stdin = strings.NewReader(strings.Repeat("x", maxQuery+1))
	if _, err := o.query(t.Context()); host.ExitCode(err) != host.ExitUsage {
		t.Errorf("a longer query: %v, want a usage error", err)
	}
}

// The hint of a run with a limit keeps the limit; that of one that reached it raises it.
func TestSizeHints(t *testing.T) {
	o := flags(t, "--max-workspace-bytes 100")
	o.Host.Command = "perstack"
	if got, want := o.Again("j"), "perstack run --continue-job j --max-workspace-bytes 100"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	err := outputOf(o, job.Spec{}).limited(engine.Result{JobID: "j", Limit: &engine.LimitError{Limit: event.LimitWorkspace, Used: 150, Max: 100}})
	for _, part := range []string{"takes 150 bytes", "100 are allowed", "perstack run --continue-job j --max-workspace-bytes 300"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q in it", err, part)
		}
	}
	if o.Flags.Limits.MaxWorkspaceBytes != 100 {
		t.Error("the hint changed the options")
	}
}

// What holds is the flag, else the file, else the default.
func TestDefaults(t *testing.T) {
	const file = "maxSteps = 7\nmaxTokens = 8\nmaxCost = 9\nmaxDuration = '10s'\nmaxDepth = 11\nmaxParallel = 12\nmaxRetries = 0\ntimeout = 0\nmaxWorkspaceBytes = 9\n"
	const given = "--max-steps 3 --max-tokens 4 --max-cost 0.5 --max-duration 6s --max-depth 1 --max-parallel 2 --max-retries 2 --timeout 10 --max-workspace-bytes 8"
	for _, tt := range []struct {
		file, flags string
		want        job.Limits
	}{
		{"", "", job.Limits{Limits: expert.Limits{MaxSteps: 100}, MaxDepth: 8, MaxParallel: 16, MaxRetries: 5, Timeout: 300 * time.Second}},
		{file, "", job.Limits{Limits: expert.Limits{MaxSteps: 7, MaxTokens: 8, MaxCost: 9, MaxDuration: 10 * time.Second}, MaxDepth: 11, MaxParallel: 12,
			MaxRetries: job.None, Timeout: job.None, MaxWorkspaceBytes: 9}},
		{file, given, job.Limits{Limits: expert.Limits{MaxSteps: 3, MaxTokens: 4, MaxCost: 0.5, MaxDuration: 6 * time.Second}, MaxDepth: 1, MaxParallel: 2,
			MaxRetries: 2, Timeout: 10 * time.Millisecond, MaxWorkspaceBytes: 8}},
	} {
		pl, _, err := makePlan(t, proposal{files: leadOnly(tt.file), opts: flags(t, tt.flags)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, pl.spec.Limits); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A run that must write the same bytes each time has one Expert at work at a time.
func TestReproducibleRunsOneAtATime(t *testing.T) {
	o := flags(t, "--max-parallel 5")
	o.Host = &host.Host{Dir: writeFiles(t, leadOnly("")), Home: t.TempDir(), Stderr: io.Discard, Reproducible: true}
	p, err := loadProject(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := makeSpec(t.Context(), o, p, &target{expertKey: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	if pl.spec.Limits.MaxParallel != 1 || !pl.spec.Sequential {
		t.Errorf("%d Experts at once", pl.spec.Limits.MaxParallel)
	}
}
