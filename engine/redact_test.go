package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

const (
	canary    = "canary-7f3a9c51"
	markerOf  = "[redacted: CANARY]"
	usersWord = "users-own-9b2e" // a secret that the user wrote into the query
)

// A leak is a skill that tells the secret in every way a skill can.
type leak struct{}

func (leak) Name() string               { return "leak" }
func (leak) Close() error               { return nil }
func (leak) Memory() rawjson.Value      { return rawjson.Value(`{"note":"` + canary + `"}`) }
func (leak) Recall(rawjson.Value) error { return nil }

func (leak) Tools(context.Context) ([]skill.Tool, error) {
	return []skill.Tool{{Name: "tell", Description: "knows " + canary}, {Name: "break"}, {Name: "panic"}}, nil
}

func (leak) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	skill.Report(ctx, "note "+canary)
	switch call.ToolName {
	case "break":
		return event.ToolResult{}, errors.New("cannot reach " + canary)
	case "panic":
		panic(canary)
	}
	return event.ToolResult{Result: []event.Part{
		{Type: event.TextPart, Text: "text " + canary},
		{Type: event.ImageURLPart, URL: "https://x.example/" + canary},
		{Type: event.ImageInlinePart, EncodedData: "aaaa" + canary, MIMEType: "image/png"},
		{Type: event.ImageInlinePart, EncodedData: "harmless", MIMEType: "image/png"},
		{Type: event.ToolResultPart, Contents: []event.Part{{Type: event.TextPart, Text: "nested " + canary}}},
	}}, nil
}

// Secrets from tools, skills and providers do not reach the model, the journal or the
// listener.
func TestRedaction(t *testing.T) {
	redact := strings.NewReplacer(canary, markerOf, usersWord, "[redacted: USER]").Replace
	overloaded := &model.Error{Name: "Overloaded " + canary, Message: "busy " + canary, Retryable: true}
	refused := &model.Error{Name: "Refused", Message: "bad key " + canary, StatusCode: 401}
	script := &script{turns: []turn{
		does("tell", "break", "panic"),
		{fail: []error{overloaded}, answer: does("tell").answer},
		{fail: []error{refused}},
	}}
	var seen []string // everything that left the engine
	s := memory.New()
	result, err := Execute(t.Context(), job.Spec{
		JobID: "job", Expert: "e", Experts: []*expert.Expert{{Key: "e", Name: "e"}}, Input: job.Input{Query: "my key is " + usersWord},
		Settings: job.Settings{Limits: job.Limits{Limits: expert.Limits{MaxSteps: 10}, MaxRetries: 2}},
	}, Parts{
		Model: script, Store: s, Source: FixedSource(time.UnixMilli(0)), Log: slog.New(slog.DiscardHandler), Secrets: redactor(redact),
		Emit: func(e event.Event) error {
			line, err := event.Marshal(e)
			seen = append(seen, string(line))
			return err
		},
		Record: func(r store.Record) error {
			seen = append(seen, string(r.Line))
			return nil
		},
	}, func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		req.Report(event.SkillStarting{SkillName: "s", Command: "run-" + canary, Args: []string{"--key", canary}})
		req.Report(event.SkillStderr{SkillName: "s", Message: "stderr " + canary})
		req.Report(event.SkillConnected{SkillName: "s", ServerInfo: &event.ServerInfo{Name: canary, Version: canary}})
		req.Report(event.DockerBuildProgress{Message: canary})
		req.Report(event.DockerContainerStatus{Message: canary})
		req.Report(event.ProxyAccess{Domain: canary + ".example", Reason: canary, Command: canary})
		req.Report(event.SandboxHint{Kind: "outside", Path: "/mnt/" + canary, Host: canary, Command: canary, Message: canary + " is outside"})
		return skill.NewToolbox(ctx, []skill.Source{{Skill: leak{}}}, slog.New(slog.DiscardHandler))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range script.requests {
		line, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, string(line))
	}
	seen = append(seen, result.Failure.Name+" "+result.Failure.Message)
	all := strings.Join(seen, "\n")
	if i := strings.Index(all, canary); i >= 0 {
		t.Errorf("the secret got out: …%s…", all[max(0, i-300):min(len(all), i+50)])
	}
	// Each way was really taken.
	for _, want := range []string{
		"text " + markerOf, "x.example/" + markerOf, "nested " + markerOf, "note " + markerOf, "cannot reach " + markerOf,
		"internal error in the tool panic: " + markerOf, "knows " + markerOf, hiddenData, "harmless", `{"note":"` + markerOf + `"}`,
		"busy " + markerOf, "bad key " + markerOf, "stderr " + markerOf, "run-" + markerOf, `"--key","` + markerOf, `"version":"` + markerOf,
		markerOf + ".example", "/mnt/" + markerOf, markerOf + " is outside",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing has %q", want)
		}
	}
	// The user's own words are the user's.
	if strings.Contains(all, "[redacted: USER]") || !strings.Contains(all, "my key is "+usersWord) {
		t.Error("the query was changed")
	}
}

// A skill's memory is valid JSON after redaction, or dropped.
func TestRedactMemory(t *testing.T) {
	r := &run{parts: &Parts{Secrets: redactor(strings.NewReplacer("secret", markerOf, `","`, "!").Replace)}}
	for in, want := range map[string]string{
		"":                  "",
		`{"a":"plain"}`:     `{"a":"plain"}`,
		`{"a":"secret"}`:    `{"a":"` + markerOf + `"}`,
		`{"a":"x","b":"y"}`: "",
	} {
		if got := r.redactMemory(rawjson.Value(in)); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
