package perstack_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/skill"
)

type forecastArgs struct {
	City string `json:"city" minLength:"1" jsonschema:"name of the city"`
}

// A Go function is a tool of an Expert. The answer is all that the program wants.
func ExampleAnswer() {
	dir, err := os.MkdirTemp("", "perstack-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"perstack.toml": `
[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"

[experts.planner]
instruction = "Plan trips by the weather."
`,
		"cassette.toml": `
[[turn]]
[[turn.call]]
tool = "forecast"
args = { city = "Lisbon" }

[[turn]]
contains = "sunny in Lisbon"
text = "Leave on Friday, it will be sunny."
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}

	forecast := skill.Func("forecast", "Tells the weather of a city.", func(_ context.Context, args forecastArgs) (string, error) {
		return "sunny in " + args.City, nil
	}, skill.ReadOnly)
	spec, err := perstack.Load(filepath.Join(dir, "perstack.toml"), "planner", "When should I go to Lisbon?")
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := perstack.Answer(context.Background(), spec, perstack.Parts{
		Skills: map[string][]skill.Skill{"planner": {forecast}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer)
	// Output: Leave on Friday, it will be sunny.
}
