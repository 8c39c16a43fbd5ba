package log

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
)

// result prints what came of a call.
func (p *printer) result(r event.ToolResult) {
	text := event.FirstText(r.Result)
	if text == "" && len(r.Result) > 0 {
		text = "(" + string(r.Result[0].Type) + ")"
	}
	name := r.ToolName
	if r.IsDelegates() {
		name += " (delegate)"
	}
	why := r.ErrorText()
	switch {
	case why == "":
		p.text("  ", "✓ "+name+": ", "", text, resultCut)
	case p.verbose:
		p.text("  ", "✗ "+name+": ", "", text, 0)
	default: // the reason in words, not the beginning of some JSON
		p.text("  ", "✗ "+name+": ", "", why, answerCut)
		for _, l := range lastOutput(r) {
			p.line("    " + cut(l, answerCut))
		}
	}
}

// tailLines is how much is shown of the output of a command that failed.
const tailLines = 4

// lastOutput returns the last lines that a failed command printed, without blank ones:
// the reason mostly stands at the end, and on standard error.
func lastOutput(r event.ToolResult) []string {
	var out struct {
		Stdout string `json:"stdout"`
		Stderr string `json:"stderr"`
	}
	text := []byte(event.FirstText(r.Result))
	if !strings.HasPrefix(r.SkillName, event.BaseSkill) || r.ToolName != "exec" ||
		json.Unmarshal(text, &out, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	for _, text := range []string{out.Stderr, out.Stdout} {
		lines := strings.Split(terminal.Clean(text), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
		if len(lines) > 0 {
			return lines[max(len(lines)-tailLines, 0):]
		}
	}
	return nil
}
