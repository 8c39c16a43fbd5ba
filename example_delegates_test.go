package perstack_test

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers/replay"
)

// A lead that asks another Expert. Both are played from one script.
func ExampleRun_delegates() {
	dir, err := os.MkdirTemp("", "perstack-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.WriteFile(dir+"/tea.txt", []byte("Tea reached Amsterdam in 1610."), 0o644)

	config, problems := manifest.Parse("perstack.toml", []byte(`
[experts.lead]
instruction = "Write headlines. Ask the researcher for facts."
delegates = ["researcher"]

[experts.researcher]
description = "Knows what is in tea.txt."
instruction = "Answer from tea.txt."
maxSteps = 5
`))
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	lead, _ := config.Lookup("lead")
	cassette, err := replay.Parse("cassette.toml", []byte(`
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
`))
	if err != nil {
		fmt.Println(err)
		return
	}

	for e, err := range perstack.Run(context.Background(), perstack.Options{
		Expert:    lead,
		Experts:   config.Experts,
		Model:     replay.New(cassette),
		Query:     "A headline about tea, please.",
		Workspace: dir,
		MaxTokens: 100_000, // of both together
	}) {
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
