package complete

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// What a shell is offered comes from a file that can be untrusted: each offer
// stays on its line, and none acts on the terminal.
func TestHostileExperts(t *testing.T) {
	const writer = `[experts.writer]
description = "writes\u001b]0;title\u0007 things\nand\tmore\u202e"
instruction = "Write."
`
	tests := []struct {
		name, text string
		want       []string
	}{
		{"description", writer, []string{"writer\twrites things and more"}},
		{"key", writer + "[experts.\"evil\\u001b[31m\\nname\"]\ninstruction = \"x\"\n", nil},
		{"flag", writer + "[experts.\"-rf\"]\ninstruction = \"x\"\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			offers, _ := experts(&host.Host{Dir: dir}, "")
			if diff := cmp.Diff(tt.want, offers); diff != "" {
				t.Error(diff)
			}
		})
	}
}
