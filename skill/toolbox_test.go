package skill_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

var quiet = slog.New(slog.DiscardHandler)

// A fake offers tools by name and says which of its calls were made.
type fake struct {
	name     string
	tools    []string
	kind     skill.Kind
	listErr  error
	closeErr error

	called []event.ToolCall
	closed int
}

func (f *fake) Name() string { return f.name }

func (f *fake) Tools(context.Context) ([]skill.Tool, error) {
	var list []skill.Tool
	for _, name := range f.tools {
		list = append(list, skill.Tool{Name: name, Description: name + " of " + f.name, Kind: f.kind})
	}
	return list, f.listErr
}

func (f *fake) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	f.called = append(f.called, call)
	return event.ToolResult{ID: call.ID, SkillName: f.name}, nil
}

func (f *fake) Close() error {
	f.closed++
	return f.closeErr
}

// A keeper is a fake that remembers.
type keeper struct {
	fake
	memory    rawjson.Value
	recallErr error
}

func (k *keeper) Memory() rawjson.Value { return k.memory }

func (k *keeper) Recall(m rawjson.Value) error {
	k.memory = m
	return k.recallErr
}

func names(box *skill.Toolbox) []string {
	var list []string
	for _, t := range box.Tools() {
		list = append(list, t.Name)
	}
	return list
}

func TestFilter(t *testing.T) {
	tests := []struct {
		pick, omit string
		want       string // of the tools a, b, c
	}{
		{"", "", "abc"},
		{"a", "", "a"},
		{"", "a", "bc"},
		{"ab", "a", "b"}, // omit is stronger
		{"x", "", ""},
		{"", "x", "abc"},
		{"A", "", ""}, // exact names
	}
	for _, tt := range tests {
		f := skill.Filter{Pick: letters(tt.pick), Omit: letters(tt.omit)}
		got := ""
		for _, name := range letters("abc") {
			if f.Allows(name) {
				got += name
			}
		}
		if got != tt.want {
			t.Errorf("pick %q, omit %q: %q, want %q", tt.pick, tt.omit, got, tt.want)
		}
	}
}

func letters(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "")
}

// S1: what is filtered out is not shown, not found and not called; the order of skills
// is the order of the table.
func TestToolboxFilters(t *testing.T) {
	one := &fake{name: "one", tools: []string{"a", "b"}}
	two := &fake{name: "two", tools: []string{"b", "c"}}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: one, Filter: skill.Filter{Omit: []string{"b"}}}, {Skill: two}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(box); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("tools %q", got)
	}
	tool, owner, ok := box.Lookup("b")
	if !ok || owner != "two" || tool.Description != "b of two" {
		t.Errorf("Lookup = %+v, %q, %t", tool, owner, ok)
	}
	if _, _, ok := box.Lookup("x"); ok {
		t.Error("found a tool that does not exist")
	}
	// The name of the skill in a call comes from the model and has no say.
	if _, err := box.Call(t.Context(), event.ToolCall{ID: "1", SkillName: "one", ToolName: "b"}); err != nil {
		t.Fatal(err)
	}
	if len(one.called) != 0 || len(two.called) != 1 || two.called[0].SkillName != "two" {
		t.Errorf("calls: one %+v, two %+v", one.called, two.called)
	}
	if _, err := box.Call(t.Context(), event.ToolCall{ToolName: "x"}); !errors.Is(err, skill.ErrUnknownTool) {
		t.Errorf("error %v", err)
	}
	box.Tools()[0].Name = "changed"
	if got := names(box); got[0] != "a" {
		t.Error("a caller of Tools can change the table")
	}
}

func TestToolboxStart(t *testing.T) {
	one := &fake{name: "one", tools: []string{"a"}}
	_, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: one}, {Skill: &fake{name: "two", tools: []string{"a"}}}}, quiet)
	if err == nil || !strings.Contains(err.Error(), `skills "one" and "two" both offer a tool named "a"`) {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken")
	_, err = skill.NewToolbox(t.Context(), []skill.Source{{Skill: one}, {Skill: &fake{name: "two", listErr: broken}}}, quiet)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), `skill "two"`) {
		t.Errorf("error %v", err)
	}
	box, err := skill.NewToolbox(t.Context(), nil, quiet)
	if err != nil || len(box.Tools()) != 0 {
		t.Errorf("empty box: %v, %v", box, err)
	}
}

func TestToolboxRecall(t *testing.T) {
	k := &keeper{fake: fake{name: "k"}}
	silent := &keeper{fake: fake{name: "silent"}}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: &fake{name: "plain"}}, {Skill: k}, {Skill: silent}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	memory := map[string]rawjson.Value{"k": rawjson.Value(`1`), "plain": rawjson.Value(`2`), "gone": rawjson.Value(`3`)}
	if err := box.Recall(memory); err != nil {
		t.Fatal(err)
	}
	if string(k.memory) != `1` || silent.memory != nil {
		t.Errorf("recalled %s, %s", k.memory, silent.memory)
	}
	if got := box.Memory("k"); string(got) != `1` {
		t.Errorf("memory of k = %s", got)
	}
	if got := box.Memory("plain"); got != nil {
		t.Errorf("memory of a skill without one = %s", got)
	}
	k.recallErr = errors.New("broken")
	if err := box.Recall(memory); !errors.Is(err, k.recallErr) || !strings.Contains(err.Error(), `skill "k"`) {
		t.Errorf("error %v", err)
	}
}

// One skill that fails to close does not keep the others open.
func TestToolboxClose(t *testing.T) {
	one := &fake{name: "one", closeErr: errors.New("first")}
	two := &fake{name: "two", closeErr: errors.New("second")}
	three := &fake{name: "three"}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: one}, {Skill: two}, {Skill: three}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	err = box.Close()
	if !errors.Is(err, one.closeErr) || !errors.Is(err, two.closeErr) {
		t.Errorf("error %v", err)
	}
	if one.closed != 1 || two.closed != 1 || three.closed != 1 {
		t.Errorf("closed %d %d %d", one.closed, two.closed, three.closed)
	}
}

func TestReport(t *testing.T) {
	var got []string
	skill.Report(skill.WithCall(t.Context(), "c1"), "no listener")
	ctx := skill.WithProgress(t.Context(), func(id, note string) { got = append(got, id+" "+note) })
	skill.Report(skill.WithCall(ctx, "c1"), "half done")
	if !slices.Equal(got, []string{"c1 half done"}) {
		t.Errorf("notes %q", got)
	}
}
