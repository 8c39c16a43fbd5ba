package perstack_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A program whose Experts run commands calls Init first. With a provider in the Spec, the
// model is opened with the key in the environment, here ANTHROPIC_API_KEY.
func Example_provider() {
	perstack.Init() // first in main: a second process of this program supervises commands

	coder := &expert.Expert{Key: "coder", Name: "coder", Version: "1.0.0", Instruction: "Fix what the tests say."}
	answer, err := perstack.Answer(context.Background(), job.Spec{
		Expert:    "coder",
		Experts:   []*expert.Expert{coder},
		Input:     job.Input{Query: "Run go test ./... and fix the first failure."},
		Workspace: job.Workspace{Dir: "."},
		Settings:  job.Settings{Provider: "anthropic", Model: "claude-sonnet-4-5"},
	}, perstack.Parts{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
