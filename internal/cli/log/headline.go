package log

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
)

// headlineCut bounds what is shown of the arguments of a call, in characters.
const headlineCut = 60

// headline names a call: the tool and, of a base tool, the command or the path. What
// the arguments of other tools mean is not known here; --verbose shows all of them.
func headline(c event.ToolCall) string {
	var a struct {
		Command     string   `json:"command"`
		Args        []string `json:"args"`
		Path        string   `json:"path"`
		Source      string   `json:"source"`
		Destination string   `json:"destination"`
	}
	// A model may have written anything: what does not fit is left out.
	if !strings.HasPrefix(c.SkillName, event.BaseSkill) ||
		json.Unmarshal(c.Args, &a, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return c.ToolName
	}
	var about string
	switch {
	case c.ToolName == "exec":
		about = strings.Join(append([]string{a.Command}, a.Args...), " ")
	case a.Source != "":
		about = a.Source + " → " + a.Destination
	default:
		about = a.Path
	}
	return strings.TrimSpace(c.ToolName + " " + cut(terminal.CleanLine(about), headlineCut))
}
