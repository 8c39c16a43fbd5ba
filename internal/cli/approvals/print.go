package approvals

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// brief describes a call on one line.
func brief(w engine.WaitingCall) string {
	return wording.Cut(terminal.ShowLine(strings.Join(w.Experts, " > ")+": "+run.Effect(w)), 200)
}

// asked returns the question about a call.
func asked(w engine.WaitingCall) *event.Approval {
	return &event.Approval{Call: w.Call, Experts: w.Experts, ApprovalRequested: w.Request}
}

// describe writes everything that there is to know about a call, as a question on a terminal shows
// it.
func describe(out *strings.Builder, w engine.WaitingCall, redact func(string) string) {
	line := func(text string) string { return terminal.ShowLine(redact(text)) }
	fmt.Fprintf(out, "%s  %s\n", line(w.Call.ID), line(w.Call.ToolName))
	fmt.Fprintf(out, "  Expires   %s UTC\n", time.UnixMilli(w.Request.Expires).UTC().Format(time.DateTime))
	view := approval.Render(asked(w), redact)
	for _, r := range view.Rows() {
		fmt.Fprintf(out, "  %s%s\n", r.Head, r.Text)
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
