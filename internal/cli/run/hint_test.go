package run

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// The command to paste repeats every flag that makes the run what it is.
func TestHintRepeatsFlags(t *testing.T) {
	o := flags(t, "--config c.toml --workspace w --move-workspace --storage s --move-workspace --provider anthropic --model m --reasoning-budget high --env-path e1 --env-path e2 --max-retries 0 --timeout 10"+
		" --cassette /a.toml --runtime docker --read-only-workspace --env A --env B --base-image debian:12 --offline --shared-sandbox --proxy builtin")
	o.Host.Command = "perstack"
	const want = "perstack run --continue-job j --config c.toml --workspace w --storage s --move-workspace --provider anthropic --model m --reasoning-budget high" +
		" --cassette /a.toml --runtime docker --read-only-workspace --offline --env A --env B --base-image debian:12 --proxy builtin --env-path e1 --env-path e2 --max-retries 0 --timeout 10"
	if got := o.Again("j"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// What limits sandboxes is repeated, and what turns them off is not.
func TestHintRepeatsSandbox(t *testing.T) {
	dir := consent.Resolve(t.TempDir())
	for line, want := range map[string]string{
		"--sandbox auto --sandbox-read " + dir + " --sandbox-write " + dir + " --sandbox-network none --allow-domain a.example": " --sandbox=auto --sandbox-read " + dir + " --sandbox-write " + dir + " --sandbox-network none --allow-domain a.example",
		"--sandbox=off --sandbox-network host": "",
	} {
		o := flags(t, line)
		o.Host.Command = "perstack"
		if got := o.Again("j"); got != "perstack run --continue-job j"+want {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// A question at the end of a branch is answered where the branch is now; one at an old
// checkpoint, which was refused, is answered there.
func TestAnswerHint(t *testing.T) {
	o := outputOf(&Options{ResumeFrom: "old"}, job.Spec{})
	end := o.end(t.Context(), engine.Result{JobID: "j", Status: event.StatusStoppedByInteractiveTool, Pending: []event.ToolCall{{ToolName: "ask"}}})
	const answer = `perstack run lead "your answer" --continue-job j -i`
	if end == nil || !strings.HasSuffix(end.Error(), answer) || host.ExitCode(end) != host.ExitWaiting {
		t.Errorf("at the end: %v", end)
	}
	refused := o.explain(t.Context(), &engine.WaitingError{JobID: "j"})
	if !strings.HasSuffix(refused.Error(), answer+" --resume-from old") || host.ExitCode(refused) != host.ExitUsage {
		t.Errorf("when refused: %v", refused)
	}
}

// A command to paste repeats names of files and of the journal, which can be anything.
func TestHintsAreQuoted(t *testing.T) {
	o := &Options{Host: &host.Host{Command: "perstack"}, Config: "a\x1b[2J\nb.toml"}
	const want = `perstack run $'le\033[2Jad' "your answer" --continue-job j --config $'a\033[2J\nb.toml' -i --resume-from 'c; id'`
	if got := o.answerHint("j", "le\x1b[2Jad", "c; id"); got != want {
		t.Errorf("%q", got)
	}
	named := &Options{Expert: "two words"}
	if err := named.checkExpert(event.ExpertRef{Key: "le\x1b[2Jad"}); err == nil || !strings.HasSuffix(err.Error(), `: perstack run $'le\033[2Jad' <query>`) {
		t.Errorf("%q", err)
	}
}

// A user who continues a completed job without a query mostly wants its answer.
func TestCompletedHint(t *testing.T) {
	for name, tt := range map[string]struct {
		problem engine.Problem
		opts    Options
		want    bool
	}{
		"completed":       {engine.JobCompleted, Options{}, true},
		"with a query":    {engine.JobCompleted, Options{HasQuery: true}, false},
		"from a file":     {engine.JobCompleted, Options{QueryFile: "f"}, false},
		"from somewhere":  {engine.JobCompleted, Options{ResumeFrom: "c"}, false},
		"another problem": {engine.NotWaiting, Options{}, false},
	} {
		o := outputOf(&tt.opts, job.Spec{})
		err := o.explain(t.Context(), &engine.Error{Kind: engine.KindInput, Err: &engine.JobError{Problem: tt.problem, JobID: "j"}})
		if got := strings.HasSuffix(err.Error(), "; perstack log j shows the answer"); got != tt.want || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The engine says what is wrong; the flag or the command that helps is added here.
func TestHints(t *testing.T) {
	for problem, want := range map[engine.Problem]string{
		engine.JobNotFound:        "no such job: j; perstack log lists the jobs",
		engine.JobExists:          "job j exists already; continue it with --continue-job j",
		engine.NotWaiting:         "job j does not wait for an answer; leave out -i and the answer to resume it, or -i to continue it with a query",
		engine.CheckpointNotFound: "checkpoint c not found in job j; perstack log j lists its checkpoints",
		engine.DelegateAnswered:   "checkpoint c is one of the delegate d, which cannot ask the user anything; leave out -i",
	} {
		wrong := &engine.JobError{Problem: problem, JobID: "j", CheckpointID: "c", Expert: "d"}
		err := outputOf(&Options{}, job.Spec{}).explain(t.Context(), &engine.Error{Kind: engine.KindInput, Err: wrong})
		if err.Error() != want || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%v, want %s", err, want)
		}
		if library := wrong.Error(); strings.Contains(library, "--") || strings.Contains(library, "perstack ") {
			t.Errorf("the engine names a flag or a command: %s", library)
		}
	}
}

// A single argument names the Expert. A user who meant a query is told where it goes.
func TestNameFirst(t *testing.T) {
	const hint = "; the query comes after the name of the expert: perstack run <expert> <query>"
	for name, tt := range map[string]struct {
		opts Options
		want bool
	}{
		"a word":            {Options{Expert: "shorter", ContinueJob: "j"}, true},
		"a sentence":        {Options{Expert: "Shorter, please", Continue: true}, true},
		"with a query":      {Options{Expert: "shorter", HasQuery: true, ContinueJob: "j"}, false},
		"not continued":     {Options{Expert: "shorter"}, false},
		"named by the jobs": {Options{ContinueJob: "j"}, false},
	} {
		key := tt.opts.Expert
		if key == "" {
			key = "gone"
		}
		if _, _, err := makePlan(t, proposal{files: toml("[experts.writer]\ninstruction = 'x'\n"), expert: key, opts: &tt.opts}); err == nil || strings.HasSuffix(err.Error(), hint) != tt.want || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A cassette has one model. A flag that would be ignored is refused; what the file says is
// for its own provider.
func TestReplayHasNoModels(t *testing.T) {
	files := leadOnly("model = 'claude-sonnet-4-5'\n")
	_, _, err := makePlan(t, proposal{files: files, opts: flags(t, "--provider replay --model m")})
	wantUsage(t, err, "--model does not go with the provider replay")
	pl, _, err := makePlan(t, proposal{files: files, opts: flags(t, "--provider replay")})
	if err != nil || pl.spec.Model != "replay" {
		t.Errorf("%+v, %v", pl, err)
	}
}

// With the answer alone on standard output, standard error says that an Expert has changed;
// its name came from a file.
func TestTextTellsOfChangedDefinitions(t *testing.T) {
	for mode, want := range map[string]string{outputText: "perstack: the definition of expert writer has changed since the job began; it continues with the new one\n", outputJSON: ""} {
		var told strings.Builder
		o := outputOf(&Options{Host: &host.Host{Stderr: &told}}, job.Spec{})
		o.mode = mode
		if err := o.note(event.Event{Body: event.DefinitionChanged{Expert: "wri" + dirty + "ter"}}); err != nil || told.String() != want {
			t.Errorf("%s: %q, %v", mode, told.String(), err)
		}
	}
}

// A delegate that failed is told of, when only the answer is asked for: the Expert that
// asked may hide it.
func TestTextTellsOfFailedDelegates(t *testing.T) {
	var told strings.Builder
	o := outputOf(&Options{Host: &host.Host{Stderr: &told}}, job.Spec{})
	o.mode = outputText
	failed := event.StopRunByError{Error: event.Failure{Name: "X", Message: "no such" + dirty + " tool"}}
	for _, e := range []event.Event{
		{RunID: "lead", ExpertKey: "lead", Body: event.StartRun{}},
		{RunID: "child", ExpertKey: "helper", Body: event.StartRun{DelegatedBy: &event.Parent{RunID: "lead"}}},
		{RunID: "child", ExpertKey: "helper", Body: failed},
		{RunID: "lead", ExpertKey: "lead", Body: failed}, // told as the end of the run
	} {
		if err := o.note(e); err != nil {
			t.Fatal(err)
		}
	}
	if want := "perstack: the delegate helper failed: no such tool\n"; told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
}

// Which flag allows a model more time is said here: the model does not know of flags.
func TestTimeoutHint(t *testing.T) {
	err := outputOf(&Options{}, job.Spec{}).end(t.Context(), engine.Result{JobID: "j", Status: event.StatusStoppedByError, Failure: &event.Failure{
		Name: "TimeoutError", Message: model.OutOfTime,
	}})
	const want = "TimeoutError: the model did not finish its answer in time; raise --timeout; resume with: perstack run --continue-job j"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
