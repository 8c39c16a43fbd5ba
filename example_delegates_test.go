package perstack_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A lead that delegates to another Expert. The Spec is written by hand; one cassette
// plays the answers of both.
func ExampleRun_delegates() {
	dir, err := os.MkdirTemp("", "perstack-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"tea.txt": "Tea reached Amsterdam in 1610.",
		"cassette.toml": `
[[turn]]
expert = "lead"
[[turn.call]]
tool = "researcher"
args = { query = "When did tea reach Amsterdam?" }

[[turn]]
expert = "researcher"
[[turn.call]]
tool = "readTextFile"
args = { path = "tea.txt" }

[[turn]]
expert = "researcher"
text = "In 1610."

[[turn]]
expert = "lead"
text = "Amsterdam drinks tea since 1610"
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}

	spec := job.Spec{
		Expert: "lead",
		Experts: []*expert.Expert{
			{Key: "lead", Name: "lead", Instruction: "Write headlines. Ask the researcher for facts.", Delegates: []string{"researcher"}},
			{Key: "researcher", Name: "researcher", Description: "Knows what is in tea.txt.", Instruction: "Answer from tea.txt.", Limits: expert.Limits{MaxSteps: 5}},
		},
		Input:     job.Input{Query: "A headline about tea, please."},
		Workspace: job.Workspace{Dir: dir},
	}
	spec.Provider, spec.Setting.Cassette = "replay", filepath.Join(dir, "cassette.toml")
	spec.Limits.MaxTokens = 100_000 // of both Experts together
	for e, err := range perstack.Run(context.Background(), spec, perstack.Parts{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch b := e.Body.(type) {
		case event.CallTools:
			fmt.Println(e.ExpertKey, "calls", b.ToolCalls[0].ToolName)
		case event.CompleteRun:
			fmt.Println(e.ExpertKey, "answers:", *b.Text)
		}
	}
	// Output:
	// lead calls researcher
	// researcher calls readTextFile
	// researcher answers: In 1610.
	// lead answers: Amsterdam drinks tea since 1610
}
