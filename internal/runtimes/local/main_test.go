package local_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// teamSpec is a job of the Expert lead of a file.
func teamSpec(t *testing.T, experts, workspace string) job.Spec {
	t.Helper()
	config, problems := manifest.Parse("perstack.toml", []byte(experts))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	lead, ok := config.Lookup("lead")
	if !ok {
		t.Fatal("no lead")
	}
	spec := config.Spec(lead)
	return complete(spec, workspace)
}

// writerSpec is a job of an Expert that has nothing but the base skill.
func writerSpec(workspace string) job.Spec {
	e := &expert.Expert{Key: "w", Name: "w", Version: "1.0.0", Instruction: "Write."}
	return complete(job.Spec{Expert: e.Key, Experts: []*expert.Expert{e}}, workspace)
}

func complete(spec job.Spec, workspace string) job.Spec {
	spec.JobID = "job"
	spec.Input.Query = "go"
	spec.Workspace.Dir = workspace
	spec.Limits.MaxSteps = 50
	spec.Complete(providers.Catalogue{})
	return spec
}

// newParts are complete parts with a model that replays a cassette.
func newParts(t *testing.T, cassette string, emit func(event.Event) error) engine.Parts {
	t.Helper()
	turns, err := replay.Parse("cassette.toml", []byte(cassette))
	if err != nil {
		t.Fatal(err)
	}
	return engine.Parts{
		Model:     replay.New(turns),
		Store:     memory.New(),
		Source:    engine.SystemSource(),
		Log:       slog.New(slog.DiscardHandler),
		Secrets:   new(secret.Set),
		Environ:   os.Environ(),
		Variables: func(string) engine.Variable { return engine.Variable{} },
		Lean:      true,
		Emit:      emit,
	}
}
