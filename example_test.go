package perstack_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
)

// An Expert that reads a file and answers. The provider replay plays the answers of a
// model from a file, so the example needs no key.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "perstack-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"note.txt": "The meeting is on Tuesday.",
		"perstack.toml": `
[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"

[experts.reader]
instruction = "Answer questions about note.txt."
`,
		"cassette.toml": `
[[turn]]
[[turn.call]]
tool = "readTextFile"
args = { path = "note.txt" }

[[turn]]
text = "On Tuesday."
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}

	spec, err := perstack.Load(filepath.Join(dir, "perstack.toml"), "reader", "When is the meeting?")
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range perstack.Run(context.Background(), spec, perstack.Parts{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch b := e.Body.(type) {
		case event.CallTools:
			fmt.Println("calls", b.ToolCalls[0].ToolName)
		case event.CompleteRun:
			fmt.Println("answers", *b.Text)
		}
	}
	// Output:
	// calls readTextFile
	// answers On Tuesday.
}
