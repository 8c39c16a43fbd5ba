package approvals

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// brief describes a call on one line.
func brief(w engine.WaitingCall) string {
	return wording.Cut(terminal.CleanLine(strings.Join(w.Experts, " > ")+": "+run.Effect(w)), 200)
}

// describe writes everything that there is to know about a call.
func describe(out *strings.Builder, w engine.WaitingCall) {
	e := w.Request.Effect
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %-9s %s\n", name, text)
		}
	}
	line := func(text string) string { return terminal.CleanLine(text) }
	fmt.Fprintf(out, "%s  %s\n", line(w.Call.ID), line(w.Call.ToolName))
	row("expert", line(strings.Join(w.Experts, " > ")))
	row("skill", line(w.Call.SkillName))
	for _, word := range e.Argv {
		row("word", terminal.ShellJoin(word))
	}
	row("program", line(e.Program))
	row("directory", line(e.Dir))
	for _, kv := range e.Env {
		row("variable", line(kv))
	}
	row("path", line(e.Path))
	row("rule", line(w.Request.Rule))
	row("why", line(w.Request.Why))
	row("expires", time.UnixMilli(w.Request.Expires).UTC().Format(time.DateTime)+" UTC")
	switch {
	case e.Diff != "":
		for text := range strings.SplitSeq(strings.TrimSuffix(e.Diff, "\n"), "\n") {
			fmt.Fprintf(out, "    %s\n", line(text))
		}
	case e.Kind != event.CommandEffect:
		row("arguments", line(string(w.Call.Args)))
	}
}

// A row is a call as programs read it.
type row struct {
	Job     string         `json:"job"`
	Run     string         `json:"run"`
	Experts []string       `json:"experts"`
	Call    event.ToolCall `json:"call"`
	Effect  event.Effect   `json:"effect"`
	Digest  string         `json:"digest"`
	Rule    string         `json:"rule"`
	Why     string         `json:"why,omitzero"`
	Once    bool           `json:"once,omitzero"`
	Expires int64          `json:"expires"` // milliseconds since 1970
}

func asJSON(jobID string, w engine.WaitingCall) string {
	r := w.Request
	return encode(row{jobID, w.RunID, w.Experts, w.Call, r.Effect, r.Digest, r.Rule, r.Why, r.Once, r.Expires})
}

// encode writes a value on one line.
func encode(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.EscapeForHTML(true))
	if err != nil {
		return "" // it cannot happen: all of it was read from JSON
	}
	return string(data) + "\n"
}
