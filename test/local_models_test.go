package test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/modeltest"
)

// TestCallsAsText: a server that returns calls as text, in the work and where the final answer
// is requested, and that counts fewer tokens than it is sent, does not end a run with nonsense.
func TestCallsAsText(t *testing.T) {
	const script = `
[[turn]]
text = '<tool_call>{"name":"readTextFile","arguments":{"path":"a.txt"}}</tool_call>'
usage = { input = 50, output = 5 }
[[turn]]
contains = "written as text"
[[turn.call]]
tool = "attemptCompletion"
[[turn]]
turn = 3
contains = "Give the final answer now"
text = "Done."
[[turn]]
turn = 3
text = '{"name":"attemptCompletion","arguments":{}}'
`
	for _, s := range modeltest.Subjects() {
		lists := s.Name == "openai" // tools in the request for the final answer; it is at another server here
		if s.Name != "ollama" && s.Name != "openai-compatible" && !lists {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "perstack.toml"), "[experts.writer]\ninstruction = \"Write.\"\n")
			server, root := modeltest.Serve(t, script)
			stdout, stderr, code := runProgram(t, dir, append(plainEnviron(t), variables(t, s, root)...),
				"run", "writer", "go", "--provider", s.Provider, "--model", s.Model)
			if code != 0 || !strings.Contains(stdout, `"text":"Done."`) {
				t.Fatalf("ended with %d: %s%s", code, stdout, stderr)
			}
			if !strings.Contains(stdout, `"limit":"input","used":50`) {
				t.Errorf("no warning about the input: %s", stdout)
			}
			for _, r := range server.Requests() {
				if final := r.Turn == 3; !lists && final == strings.Contains(string(r.Raw), `"tools":`) {
					t.Errorf("turn %d: %s", r.Turn, r.Raw)
				}
			}
		})
	}
}
