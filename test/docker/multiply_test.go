//go:build linux

package docker

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
)

// A command that multiplies takes every process that the container may have, for a moment.
// The engine works during that time, with what it has, and afterwards.
func TestCommandMultiplies(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker, "notes.txt": "three open points\n"})
	var script strings.Builder
	for range 3 {
		script.WriteString("[[turn]]\n" + command(t, "./probed", "multiply"))
		for range 4 {
			script.WriteString(call(t, "readTextFile", map[string]any{"path": "notes.txt"}))
		}
	}
	script.WriteString("[[turn]]\n" + command(t, "./probed", "append", "after.txt", "still here") + "[[turn]]\ntext = \"Done.\"\n")
	p.serve(script.String())
	o := p.run("worker", "go", "--job-id", p.job()).must(t, 0)
	read, ended := 0, 0
	for _, e := range o.events {
		b, ok := e.Body.(event.ResolveToolResults)
		if !ok {
			continue
		}
		for _, r := range b.ToolResults {
			switch text := string(encode(t, r.Result)); {
			case r.ToolName == "readTextFile" && !r.IsError && strings.Contains(text, "three open points"):
				read++
			case r.ToolName == "exec" && r.IsError:
				ended++
			}
		}
	}
	if read != 12 || ended != 3 {
		t.Errorf("%d files were read, want 12; %d commands were ended, want 3", read, ended)
	}
	if got := string(p.read("after.txt")); got != "still here\n" {
		t.Errorf("after it: %q", got)
	}
}
