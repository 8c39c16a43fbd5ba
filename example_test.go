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

// An Expert that reads a file and answers. The model is played from a script, so the
// example needs no key.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "perstack-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.WriteFile(dir+"/note.txt", []byte("The meeting is on Tuesday."), 0o644)

	config, problems := manifest.Parse("perstack.toml", []byte(`
[experts.reader]
instruction = "Answer questions about note.txt."
`))
	if err := problems.Err(); err != nil {
		fmt.Println(err)
		return
	}
	reader, _ := config.Lookup("reader")
	cassette, err := replay.Parse("cassette.toml", []byte(`
[[turn]]
[[turn.call]]
tool = "readTextFile"
args = { path = "note.txt" }

[[turn]]
text = "On Tuesday."
`))
	if err != nil {
		fmt.Println(err)
		return
	}

	for e, err := range perstack.Run(context.Background(), perstack.Options{
		Expert:    reader,
		Model:     replay.New(cassette),
		Query:     "When is the meeting?",
		Workspace: dir,
	}) {
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
