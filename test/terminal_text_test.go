package test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// dirt is what an attacker would like a terminal to obey, as TOML and JSON write it: it
// clears the screen, sets the title, colours in the old way, rings, and turns text round.
const dirt = `\u001b[2J\u001b]0;title\u0007\u009b31m\u0007\u202e\u2066`

// Whatever a repository, a provider or a model says: nothing that a terminal obeys gets
// to standard error, nor to standard output where that is for people.
func TestTextIsForReading(t *testing.T) {
	question := `[experts.writer.skills.user]
type = "interactiveSkill"
[experts.writer.skills.user.tools.ask]
inputJsonSchema = '{"type":"object"}'
`
	replay := "[provider]\nproviderName = \"replay\"\n[provider.setting]\ncassette = \"cassette.toml\"\n"
	expert := "[experts.writer]\ninstruction = \"Write.\"\n"
	tests := []struct {
		name     string
		config   string
		script   string // of a scripted server
		cassette string
		code     int
		shown    string // of what is not dirt
		args     []string
	}{
		{"an unknown key", "\"ke" + dirt + "y\" = 1\n" + expert, "", "", 2, "unknown key", nil},
		{"a wrong value", "model = \"m\"\nruntime = \"lo" + dirt + "cal\"\n" + expert, "", "", 2, "runtime", nil},
		{"the name of an expert", "[experts.\"wri" + dirt + "ter\"]\ninstruction = \"Write.\"\n", "", "", 2, "experts", nil},
		{"a table of no use", expert + "[experts.writer.skills.\"x" + dirt + "y\"]\ntype = \"none\"\n", "", "", 2, "type", nil},
		{"no TOML at all", "x = \"" + dirt + "\n", "", "", 2, "perstack.toml", nil},
		{"a base URL", "[provider]\nproviderName = \"anthropic\"\n[provider.setting]\nbaseUrl = \"http://127.0.0.1:1/" + dirt + "\"\n" + expert, "", "", 2, "is not a URL", nil},
		{"another base URL", "[provider]\nproviderName = \"anthropic\"\n[provider.setting]\nbaseUrl = \"http://127.0.0.1:1/\\u202emoc\\u2066\"\n" + expert, "", "", 1, "your key go to http://127.0.0.1:1/moc", []string{"--max-retries", "0"}},
		{"an error of the provider", expert, "[[turn]]\n[turn.error]\nstatus = 400\nmessage = \"messages: wr" + dirt + "ong\"\n", "", 1, "messages: wrong", nil},
		{"an error that is retried", expert, "[[turn]]\n[turn.error]\nstatus = 529\nmessage = \"over" + dirt + "loaded\"\nretryAfterMs = \"1\"\n[[turn]]\ntext = \"Good.\"\n", "", 0, "anthropic answered 529", []string{"--verbose"}},
		{"a question", replay + expert + question, "", "[[turn]]\n[[turn.call]]\ntool = \"ask\"\nargs = { question = \"Wh" + dirt + "en?\" }\n", 4, "waiting for your answer to ask", nil},
		{"the answer", replay + expert, "", "[[turn]]\ntext = \"Your" + dirt + " notes.\"\n", 0, "Your notes.", nil},
		{"the answer as it comes", replay + expert, "", "[[turn]]\ntext = \"Your" + dirt + " notes.\"\n", 0, "Your notes.", []string{"--output", "progress"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			env := append(os.Environ(), "HOME="+t.TempDir(), "PERSTACK_STORAGE_PATH=", "ANTHROPIC_API_KEY="+llm.Key)
			for name, text := range map[string]string{"perstack.toml": tt.config, "cassette.toml": tt.cassette} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.script != "" {
				script, err := llm.Parse("script", []byte(tt.script))
				if err != nil {
					t.Fatal(err)
				}
				_, url := llm.Start(t, script)
				env = append(env, "ANTHROPIC_BASE_URL="+url)
			}
			cmd := exec.CommandContext(t.Context(), "perstack", append([]string{"run", "writer", "go", "--output", "text"}, tt.args...)...)
			cmd.Dir, cmd.Env = dir, env
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			got := out.String()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(got, tt.shown) {
				t.Errorf("exit code %d, want %d with %q: %q", code, tt.code, tt.shown, got)
			}
			if i := strings.IndexFunc(got, obeyed); i >= 0 {
				t.Errorf("%q has what a terminal obeys: %q", got, got[i:])
			}
		})
	}
}

func obeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf)
}
