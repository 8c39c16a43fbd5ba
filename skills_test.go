package perstack_test

import (
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

func TestMain(m *testing.M) {
	perstack.Init()
	os.Exit(m.Run())
}

// A program that embeds perstack gives an Expert the tools of an MCP server, with the
// variables that the skill requires; what looks like a key in them is hidden.
func TestSkill(t *testing.T) {
	config, problems := manifest.Parse("perstack.toml", []byte(`
[experts.adder]
instruction = "Add."
[experts.adder.skills.calc]
type = "mcpStdioSkill"
command = '`+evil.Program(t)+`'
args = ["good"]
requiredEnv = ["CALC_KEY"]
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	adder, _ := config.Lookup("adder")
	spec := config.Spec(adder)
	spec.Input.Query = "add"
	const key = "9fKx2LmQ8vTz4Wb8"
	run := func(env ...string) (answer string, failure string) {
		cassette, err := replay.Parse("c.toml", []byte(`
[[turn]]
[[turn.call]]
tool = "add"
args = { a = 40, b = 2 }
[[turn.call]]
tool = "echo"
args = { text = "`+key+`" }
[[turn]]
contains = "42"
text = "It is 42."
`))
		if err != nil {
			t.Fatal(err)
		}
		spec.Workspace.Dir = t.TempDir()
		for e, err := range perstack.Run(t.Context(), spec, perstack.Parts{
			Model: replay.New(cassette), Environ: append(os.Environ(), env...),
		}) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := e.Body.(type) {
			case event.EndToolCall:
				if strings.Contains(event.FirstText(b.ToolResult.Result), key) {
					t.Errorf("the key is in %+v", b)
				}
			case event.CompleteRun:
				answer = *b.Text
			case event.StopRunByError:
				failure = b.Error.Message
			}
		}
		return answer, failure
	}
	if answer, failure := run("CALC_KEY=" + key); answer != "It is 42." {
		t.Errorf("%q, %q", answer, failure)
	}
	if _, failure := run(); !strings.Contains(failure, "CALC_KEY is not set") {
		t.Errorf("without the variable: %q", failure)
	}
}
