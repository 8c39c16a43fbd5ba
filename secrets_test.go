package perstack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/job"
)

// A program that embeds perstack names its secrets, and no event has them.
func TestSecrets(t *testing.T) {
	const key = "embedded-key-4711"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("the key is "+key), 0o600); err != nil {
		t.Fatal(err)
	}
	cassette, err := replay.Parse("c.toml", []byte("[[turn]]\n[[turn.call]]\ntool = \"readTextFile\"\nargs = { path = \"notes.txt\" }\n[[turn]]\ntext = \"done\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for e, err := range perstack.Run(t.Context(), job.Spec{
		Expert: "reader", Experts: []*expert.Expert{{Key: "reader", Name: "reader", Instruction: "Read."}},
		Input: job.Input{Query: "go"}, Workspace: job.Workspace{Dir: dir},
	}, perstack.Parts{Model: replay.New(cassette), Secrets: perstack.Secrets(map[string]string{"MY_KEY": key})}) {
		if err != nil {
			t.Fatal(err)
		}
		line, err := event.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(line)
	}
	if got := all.String(); strings.Contains(got, key) || !strings.Contains(got, "the key is [redacted: MY_KEY]") {
		t.Errorf("events: %s", got)
	}
}
