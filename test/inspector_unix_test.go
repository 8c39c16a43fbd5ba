//go:build unix

package test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/skills/base/prompt"
)

// inspect has the MCP Inspector ask a server one thing.
func (p npmProject) inspect(t *testing.T, args ...string) (answer string, code int) {
	t.Helper()
	cmd := exec.Command(p.Node(), append([]string{p.Inspector(), "--cli"}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.environ
	var errs lines
	cmd.Stderr = &errs
	out, err := cmd.Output()
	code = exitCode(t, err)
	if code != 0 {
		t.Logf("the Inspector ended with %d: %s", code, errs.String())
	}
	return string(out), code
}

// The MCP Inspector, with which authors test their servers, lists and calls the base
// tools over both transports.
func TestNPMInspector(t *testing.T) {
	p := newNPMProject(t)
	write(t, filepath.Join(p.dir, "work", "a.txt"), "alpha\n")
	write(t, filepath.Join(p.dir, "work", ".env"), "PASSWORD=hunter2hunter2\n")
	program, err := exec.LookPath("perstack")
	if err != nil {
		t.Fatal(err)
	}
	s := serveHTTP(t, p.dir, "--workspace", "work")
	tests := []struct {
		name   string
		target []string
	}{
		{"stdio", []string{program, "mcp", "base", "--workspace", "work"}},
		{"HTTP", []string{s.url, "--transport", "http", "--header", "Authorization: Bearer " + s.token}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ask := func(args ...string) string {
				t.Helper()
				answer, code := p.inspect(t, slices.Concat(tt.target, []string{"--method"}, args)...)
				// It says with 5 that a tool returned an error.
				if code != 0 && code != 5 {
					t.Fatalf("exit code %d", code)
				}
				return answer
			}
			var list struct {
				Tools []struct {
					Name string `json:"name"`
				} `json:"tools"`
			}
			if err := json.Unmarshal([]byte(ask("tools/list")), &list); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if want := prompt.Names(); !slices.Equal(names, want) {
				t.Errorf("the tools are %q, want %q", names, want)
			}
			if got := ask("tools/call", "--tool-name", "readTextFile", "--tool-arg", "path=a.txt"); !strings.Contains(got, `alpha`) {
				t.Errorf("a file reads: %s", got)
			}
			if got := ask("tools/call", "--tool-name", "readTextFile", "--tool-arg", "path=.env"); !strings.Contains(got, "protected") || strings.Contains(got, "hunter2") || !strings.Contains(got, `"isError": true`) {
				t.Errorf("a protected file reads: %s", got)
			}
		})
	}
	if answer, code := p.inspect(t, s.url, "--transport", "http", "--header", "Authorization: Bearer wrong-wrong-wrong", "--method", "tools/list"); code == 0 || strings.Contains(answer, "readTextFile") {
		t.Errorf("with a wrong token: exit code %d: %s", code, answer)
	}
}
