package run

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// The command to paste repeats every flag that makes the run what it is.
func TestHintRepeatsFlags(t *testing.T) {
	o := &Options{Host: &host.Host{Command: "perstack"}, Config: "c.toml", Workspace: "w", Storage: "s", Provider: "anthropic", Model: "m", Reasoning: "high",
		EnvPath: []string{"e1", "e2"}, MaxRetries: new(0), TimeoutMS: new(10),
		Cassette: "a.toml", Runtime: "docker", ReadOnlyWorkspace: true, Env: []string{"A", "B"}, BaseImage: "debian:12", Offline: true, SharedCell: true}
	const want = "perstack run --continue-job j --config c.toml --workspace w --storage s --provider anthropic --model m --reasoning-budget high" +
		" --cassette a.toml --runtime docker --read-only-workspace --offline --env A --env B --base-image debian:12 --env-path e1 --env-path e2 --max-retries 0 --timeout 10"
	if got := o.again("j"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A question at the end of a branch is answered where the branch is now; one at an old
// checkpoint, which was refused, is answered there.
func TestAnswerHint(t *testing.T) {
	o := &output{opts: &Options{Host: &host.Host{Command: "perstack"}, ResumeFrom: "old"}, expert: &expert.Expert{Key: "lead"}}
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

// Whoever continues a completed job without a word wants its answer, mostly.
func TestCompletedHint(t *testing.T) {
	refusal := &engine.Error{Kind: engine.KindInput, Err: io.ErrUnexpectedEOF}
	for name, tt := range map[string]struct {
		job  event.JobStatus
		opts Options
		want bool
	}{
		"completed":       {event.JobCompleted, Options{}, true},
		"with a query":    {event.JobCompleted, Options{HasQuery: true}, false},
		"from a file":     {event.JobCompleted, Options{QueryFile: "f"}, false},
		"from somewhere":  {event.JobCompleted, Options{ResumeFrom: "c"}, false},
		"another outcome": {event.JobStoppedByError, Options{}, false},
	} {
		tt.opts.Host = &host.Host{Command: "perstack"}
		o := &output{opts: &tt.opts, expert: &expert.Expert{Key: "lead"}, job: event.Job{ID: "j", Status: tt.job}}
		err := o.explain(t.Context(), refusal)
		if got := strings.HasSuffix(err.Error(), "; perstack log j shows the answer"); got != tt.want || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A single argument names the Expert. Whoever meant a query is told where it goes.
func TestNameFirst(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte("[experts.writer]\ninstruction = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const hint = "; a query stands behind the name of the expert: perstack run <expert> <query>"
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
		tt.opts.Host = &host.Host{Dir: dir, Stderr: io.Discard}
		s, err := loadSetup(&tt.opts)
		if err != nil {
			t.Fatal(err)
		}
		key := tt.opts.Expert
		if key == "" {
			key = "gone"
		}
		if _, err := s.expert(key); err == nil || strings.HasSuffix(err.Error(), hint) != tt.want || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A cassette has one model. A flag that would be ignored is refused; what the file says is
// for its own provider.
func TestReplayHasNoModels(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte("model = 'claude-sonnet-4-5'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Dir: dir, Stderr: io.Discard}
	if _, err := loadSetup(&Options{Host: h, Provider: "replay", Model: "m"}); err == nil || !strings.Contains(err.Error(), "--model does not go with the provider replay") {
		t.Errorf("a model was taken: %v", err)
	}
	s, err := loadSetup(&Options{Host: h, Provider: "replay"})
	if err != nil || s.modelName != "replay" {
		t.Errorf("%+v, %v", s, err)
	}
}

// With the answer alone on standard output, standard error says that an Expert has changed;
// its name came from a file.
func TestTextTellsOfChangedDefinitions(t *testing.T) {
	for mode, want := range map[string]string{outputText: "perstack: the definition of expert writer has changed since the job began; it goes on with the new one\n", outputJSON: ""} {
		var told strings.Builder
		o := &output{opts: &Options{Host: &host.Host{Stderr: &told}}, mode: mode}
		if err := o.note(event.Event{Body: event.DefinitionChanged{Expert: "wri" + dirty + "ter"}}); err != nil || told.String() != want {
			t.Errorf("%s: %q, %v", mode, told.String(), err)
		}
	}
}

// A delegate that failed is told of, when only the answer is asked for: the Expert that
// asked may hide it.
func TestTextTellsOfFailedDelegates(t *testing.T) {
	var told strings.Builder
	o := &output{opts: &Options{Host: &host.Host{Stderr: &told}}, mode: outputText, delegated: map[string]bool{}}
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
