package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// E4, M6: a server that is started for a skill looks for the secrets of perstack in all
// that /proc has of it, and finds none.
func TestHostileHuntOfASkill(t *testing.T) {
	const marker = "canary-of-the-runtime"
	dir, program := t.TempDir(), evil.Program(t)
	write(t, filepath.Join(dir, "perstack.toml"), slow["perstack.toml"]+fmt.Sprintf(`[experts.writer.skills.hunter]
type = "mcpStdioSkill"
command = %q
args = ["hunt", "--marker", %q, "--levels", "2"]
`, program, marker))
	write(t, filepath.Join(dir, "cassette.toml"), "[[turn]]\n[[turn.call]]\nid = \"hunt\"\ntool = \"hunt\"\n[[turn]]\ntext = \"Worked.\"\n")
	cmd := exec.CommandContext(t.Context(), "perstack", "run", "writer", "go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "ANTHROPIC_API_KEY=sk-ant-"+marker+"-Ab1xYz93", "OTHER_TOKEN=tok-"+marker)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Found []evil.Find `json:"found"`
	}
	for line := range strings.Lines(string(out)) {
		e, err := event.Unmarshal([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if resolved, ok := e.Body.(event.ResolveToolResults); ok {
			if err := json.Unmarshal([]byte(event.FirstText(resolved.ToolResults[0].Result)), &result); err != nil {
				t.Fatal(err)
			}
		}
	}
	denied := 0
	for _, f := range result.Found {
		switch {
		case f.Who == "self" && strings.HasSuffix(f.Place, "/environ"):
			if len(f.Planted) > 0 {
				t.Errorf("it was given %q", f.Planted)
			}
			continue
		case f.Who == "self" || strings.HasSuffix(f.Place, "/cmdline"):
			continue // its own command line has the marker
		case strings.HasPrefix(f.Place, fmt.Sprintf("/proc/%d/", os.Getpid())):
			continue // this test, which is not part of a run
		case strings.HasSuffix(f.Place, "/fd"):
			continue // root may list the numbers; what is behind them is a place of its own
		case strings.HasPrefix(f.Place, fmt.Sprintf("/proc/%d/", cmd.Process.Pid)) || f.Place == fmt.Sprintf("ptrace %d", cmd.Process.Pid):
			if f.Error != "denied" {
				t.Errorf("%s of perstack can be read: %+v", f.Place, f)
			}
			denied++
		}
		if len(f.Planted) > 0 {
			t.Errorf("%s (%s) gives away %q", f.Place, f.Who, f.Planted)
		}
	}
	if denied < 3 { // environ, mem, ptrace
		t.Errorf("perstack was not looked at: %+v", result.Found)
	}
}
