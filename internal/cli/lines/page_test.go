package lines

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// docs/run.md has the screens that are drawn.
func TestPageOfRun(t *testing.T) {
	data, err := os.ReadFile("../../../docs/run.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	job := job.Spec{Settings: job.Settings{Runtime: job.Local}}
	job.Limits.MaxSteps, job.Limits.MaxCost = 100, 0.5
	spec, err := job.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	now := int64(9000)
	l, screen := newLive(t, 80, 24, LiveOptions{Sandbox: "sandbox landlock", Now: func() time.Time { return time.UnixMilli(now) }})
	check := func(what string) {
		t.Helper()
		if text := "```\n" + strings.ReplaceAll(screen.text(), "⠋", "⠹") + "```\n"; !strings.Contains(page, text) {
			t.Errorf("docs/run.md does not have what is drawn %s:\n%s", what, text)
		}
	}
	of := func(ms int64, body event.Body) event.Event {
		e := timed(ms, body)
		e.ExpertKey, e.JobID = "writer", "r58pyt"
		return e
	}
	test := event.ToolCall{ID: "t", SkillName: event.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"sh","args":["-c","go test ./... | tail"],"cwd":"sub"}`)}
	read := event.ToolCall{ID: "r", SkillName: event.BaseSkill, ToolName: "readTextFile", Args: rawjson.Value(`{"path":"notes.txt"}`)}
	usage := event.Usage{InputTokens: 9_100, OutputTokens: 1_050}
	output := "ok   example/a  0.4s" + strings.Repeat("\nok   example/b", 12)
	calls := turn("", "", read, test)
	calls.Usage = usage
	l.began = 0
	feed(t, l,
		of(0, event.InitializeRuntime{ExpertName: "writer", Model: "claude-sonnet-5-5"}),
		of(0, event.StartRun{InputMessages: ask("Summarise notes.txt"), Provider: "anthropic", Model: "claude-sonnet-4-5", Spec: spec}),
		of(50, event.StartGeneration{}), of(8000, event.CompleteStreamingReasoning{Text: "The notes come first."}), of(8000, calls),
		of(8000, event.StartToolCall{ToolCallID: "r"}), of(8100, ended(read, `{"content":"one"}`)),
		of(8100, event.StartToolCall{ToolCallID: "t"}), of(9000, event.ToolProgress{ToolCallID: "t", Message: "ok   example/a  0.4s"}))
	now = 12_300
	feed(t, l)
	check("while a command runs")
	now = 28_300
	feed(t, l, of(16_300, ended(test, marshal(object{"output": output}))), of(16_300, event.StartGeneration{}), of(16_300, event.StreamText{Delta: "The launch moves to **May**. All tests "}))
	check("while the model answers")
	now = 72_000
	feed(t, l, of(72_000, event.CompleteRun{NewMessage: message(event.ExpertMessage, text("The launch moves to **May**. All tests pass.")), Usage: usage}))
	if err := l.Finish(Summary{Status: event.StatusCompleted, Files: 2, Again: "perstack log r58p"}); err != nil {
		t.Fatal(err)
	}
	check("at the end")

	l, screen = newLive(t, 80, 24, LiveOptions{Sandbox: "sandbox landlock", Now: func() time.Time { return time.UnixMilli(41_000) }})
	events := []event.Event{
		of(0, event.InitializeRuntime{ExpertName: "lead", Model: "claude-sonnet-5-5"}),
		of(0, event.StartRun{InputMessages: ask("Plan a weekend"), Spec: spec}), of(0, event.StartGeneration{}),
	}
	var delegates event.CallDelegate
	names := []string{"flights", "hotels", "museums", "weather", "trains"}
	var team []event.ToolCall
	for i, name := range names {
		c := event.ToolCall{ID: fmt.Sprint(i), SkillName: name, ToolName: name, Args: rawjson.Value(`{"query":"Compare ` + name + ` in May"}`)}
		team = append(team, c)
		delegates.Delegates = append(delegates.Delegates, event.DelegateRun{ToolCallID: c.ID, RunID: "k" + c.ID, Expert: event.ExpertRef{Key: name}})
	}
	events = append(events, of(1000, turn("", "", team...)), of(1000, delegates), of(1000, event.StopRunByDelegate{}))
	for i, name := range names {
		child := func(ms int64, body event.Body) event.Event {
			e := at("k"+fmt.Sprint(i), name, body)
			e.Timestamp = ms
			return e
		}
		events = append(events, child(1000, event.StartRun{DelegatedBy: &event.Parent{Expert: event.ExpertRef{Key: "lead"}, RunID: "r"}}), child(2000, event.StartGeneration{}),
			child(29_000, event.StreamText{Delta: "There is a choice of " + name + " in May. "}))
	}
	feed(t, l, events...)
	check("while delegates work")
}
