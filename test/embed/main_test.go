package embed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// withoutInit is set for a process that plays a program whose main function forgot Init.
const withoutInit = "PERSTACK_TEST_WITHOUT_INIT"

func TestMain(m *testing.M) {
	if os.Getenv(withoutInit) == "" {
		perstack.Init() // some Experts here run commands, or run in a container
	}
	os.Exit(m.Run())
}

// newSpec is a job of one Expert in an empty workspace.
func newSpec(t *testing.T, query string) job.Spec {
	t.Helper()
	return job.Spec{
		Expert:    "clerk",
		Experts:   []*expert.Expert{{Key: "clerk", Name: "clerk", Instruction: "Do what you are asked to do."}},
		Input:     job.Input{Query: query},
		Workspace: job.Workspace{Dir: t.TempDir()},
	}
}

// play has the provider replay play a cassette instead of a model.
func play(t *testing.T, spec *job.Spec, cassette string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cassette.toml")
	if err := os.WriteFile(path, []byte(cassette), 0o600); err != nil {
		t.Fatal(err)
	}
	spec.Provider, spec.Setting.Cassette = "replay", path
}

// answer runs a job and fails the test if it has no answer. The result tells how to resume.
func answer(t *testing.T, spec job.Spec, parts perstack.Parts) (string, perstack.Result) {
	t.Helper()
	var result perstack.Result
	parts.Done = func(r perstack.Result) { result = r }
	text, err := perstack.Answer(t.Context(), spec, parts)
	if err != nil {
		t.Fatal(err)
	}
	return text, result
}
