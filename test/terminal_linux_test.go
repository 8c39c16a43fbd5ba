package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// What a run shows on a terminal: progress for people unless events are asked for, and
// never anything of a model that would drive the terminal.
func TestTerminal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"perstack.toml": slow["perstack.toml"],
		"cassette.toml": "[[turn]]\ntext = \"Tidy answer\"\n",
		"evil.toml":     "[[turn]]\ntext = \"\\u001b]0;owned\\u0007gone \\u202e txt \\u009b31m\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		args []string
		want string
		not  []string
	}{
		{"progress is the default", nil, "Tidy answer", []string{`"type"`}},
		{"--json forces events", []string{"--json"}, `"type":"completeRun"`, nil},
		{"hostile text in progress", []string{"--cassette", "evil.toml"}, "gone", []string{"\x1b]0;", "\u202e", "\u009b"}},
		{"hostile text in the answer", []string{"--cassette", "evil.toml", "--output", "text"}, "gone", []string{"\x1b", "\u202e", "\u009b"}},
		{"hostile text in events", []string{"--cassette", "evil.toml", "--json"}, `\u001b]0;owned`, []string{"\x1b", "\u202e", "\u009b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command("perstack", append([]string{"run", "writer", "go"}, tt.args...)...)
			cmd.Dir = dir
			out, err := testkit.OnTerminal(cmd)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("%q is not on the screen:\n%q", tt.want, out)
			}
			for _, not := range tt.not {
				if strings.Contains(string(out), not) {
					t.Errorf("%q is on the screen:\n%q", not, out)
				}
			}
		})
	}
}
