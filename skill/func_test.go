package skill_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

func TestFuncTool(t *testing.T) {
	echo := func(_ context.Context, args struct {
		Text string `json:"text"`
	}) (string, error) {
		return args.Text, nil
	}
	titled := func(t *skill.Tool) { t.Title = "Echo" }
	for _, tt := range []struct {
		traits               []func(*skill.Tool)
		readOnly, repeatable bool
		title                string
	}{
		{nil, false, false, ""},
		{[]func(*skill.Tool){skill.Repeatable}, false, true, ""},
		{[]func(*skill.Tool){skill.ReadOnly, titled}, true, true, "Echo"},
	} {
		s := skill.Func("echo", "Repeats a text.", echo, tt.traits...)
		tools, err := s.Tools(t.Context())
		if err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		got := tools[0]
		if got.Name != "echo" || s.Name() != "echo" || got.Description != "Repeats a text." || !got.Checked || got.Ours ||
			got.ReadOnly != tt.readOnly || got.Repeatable != tt.repeatable || got.Title != tt.title {
			t.Errorf("%+v", got)
		}
	}
}

func TestFuncResults(t *testing.T) {
	call := func(s skill.Skill, args string) (event.ToolResult, error) {
		return s.Call(t.Context(), event.ToolCall{ID: "c1", ToolName: "f", Args: rawjson.Value(args)})
	}
	picture := event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: "AA=="}
	for name, tt := range map[string]struct {
		skill skill.Skill
		want  string
		fails bool
	}{
		"text":       {noArgs(func() (string, error) { return "plain \"text\"", nil }), `plain "text"`, false},
		"number":     {noArgs(func() (int, error) { return 42, nil }), `42`, false},
		"struct":     {noArgs(func() (struct{ A string }, error) { return struct{ A string }{"<b>"}, nil }), `{"A":"<b>"}`, false},
		"nothing":    {noArgs(func() (*int, error) { return nil, nil }), `null`, false},
		"error":      {noArgs(func() (int, error) { return 42, errors.New("out of order") }), `out of order`, true},
		"not a JSON": {noArgs(func() (func(), error) { return func() {}, nil }), `the result cannot be written as JSON: `, true},
	} {
		r, err := call(tt.skill, "")
		if err != nil || len(r.Result) != 1 || !strings.HasPrefix(r.Result[0].Text, tt.want) || r.IsError != tt.fails || r.ID != "c1" || r.ToolName != "f" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	r, err := call(noArgs(func() ([]event.Part, error) { return []event.Part{picture}, nil }), "{}")
	if err != nil || len(r.Result) != 1 || r.Result[0].EncodedData != picture.EncodedData || r.Result[0].Type != picture.Type {
		t.Errorf("parts: %+v, %v", r, err)
	}
	if _, err := noArgs(func() (int, error) { return 0, nil }).Call(t.Context(), event.ToolCall{ToolName: "g"}); !errors.Is(err, skill.ErrUnknownTool) {
		t.Errorf("another tool: %v", err)
	}
}

// noArgs is a tool named f that takes no arguments.
func noArgs[R any](fn func() (R, error)) skill.Skill {
	return skill.Func("f", "", func(context.Context, struct{}) (R, error) { return fn() })
}

// A function says how far it is without knowing the id of its call.
func TestFuncReports(t *testing.T) {
	s := skill.Func("f", "", func(ctx context.Context, _ struct{}) (string, error) {
		skill.Report(ctx, "half done")
		return "", nil
	})
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: s}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	ctx := skill.WithProgress(t.Context(), func(id, note string) { got = id + " " + note })
	if _, err := box.Call(ctx, event.ToolCall{ID: "c7", ToolName: "f"}); err != nil || got != "c7 half done" {
		t.Errorf("%q, %v", got, err)
	}
}

// Arguments that cannot be a tool's are reported before anything runs.
func TestFuncBadArguments(t *testing.T) {
	s := skill.Func("f", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	if _, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: s}}, quiet); err == nil || !strings.Contains(err.Error(), `skill "f"`) {
		t.Error(err)
	}
}
