package engine

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// TestFullEvents pins, field by field, what programs read on standard output. The
// goldens are compared by eye with the shapes that other programs of the Perstack
// family use; ids count up and the clock stands still.
func TestFullEvents(t *testing.T) {
	thinking := func(a *model.Answer) {
		a.Parts = thought("Hm.", "sig", said("I look.", a.Calls()...)...)
	}
	tests := []struct {
		name   string
		turns  []turn
		inputs []job.Input
	}{
		{"a_text", []turn{says("Hi.").with(thinking)}, []job.Input{{Query: "go"}}},
		{"b_tools", []turn{does(`read {"path":"a"}`, "fail").with(thinking), says("Done.")}, []job.Input{{Query: "go"}}},
		{"c_completion", []turn{does("attemptCompletion"), says("Done.")}, []job.Input{{Query: "go"}}},
		{"e_completion_with_text", []turn{does("attemptCompletion").with(func(a *model.Answer) { a.Parts = said("Done.", a.Parts...) })}, []job.Input{{Query: "go"}}},
		{"f_g_interactive", []turn{does("read", `ask {"q":1}`, "confirm"), says("Done.")}, []job.Input{
			{Query: "go"},
			{Continue: true, Answer: &event.ToolAnswer{Text: "one"}},
			{Continue: true, Answer: &event.ToolAnswer{ToolCallID: "c3", Text: "two"}},
		}},
		{"l_retry", []turn{does("ask", "act").with(func(a *model.Answer) { a.Finish = model.FinishLength }), {fail: []error{busy}, answer: says("Done.").answer}}, []job.Input{{Query: "go"}}},
		{"m_error", []turn{{fail: []error{&model.Error{Name: "Unauthorized", Message: "bad key", StatusCode: 401}}}}, []job.Input{{Query: "go"}}},
		{"o_continue", []turn{says("One."), says("Two.")}, []job.Input{{Query: "go"}, {Continue: true, Query: "more"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.turns...)
			b.parallel = 1 // results in a fixed order
			b.window = 1000
			var out bytes.Buffer
			w := event.NewWriter(&out)
			b.emit = w.Write
			for _, in := range tt.inputs {
				b.must(in)
			}
			testkit.Golden(t, "full_"+tt.name+".json", readable(t, out.Bytes()))
		})
	}
}

// readable indents JSON lines, and shortens the instruction, which has its own golden.
func readable(t *testing.T, lines []byte) string {
	t.Helper()
	var all strings.Builder
	for line := range bytes.Lines(lines) {
		v := rawjson.Value(line)
		if err := (*jsontext.Value)(&v).Indent(jsontext.WithIndent("  ")); err != nil {
			t.Fatal(err)
		}
		all.Write(append(v, '\n'))
	}
	text := all.String()
	for {
		start := strings.Index(text, `"# Your role`)
		if start < 0 {
			return text
		}
		length := strings.Index(text[start+1:], `"`) + 2
		text = text[:start] + `"<instruction>"` + text[start+length:]
	}
}

// TestInstruction shows exactly what the model is told in each situation. Sections without
// content are left out.
func TestInstruction(t *testing.T) {
	rules := []*expert.Skill{
		{Name: "user", Type: expert.InteractiveSkill, Rule: "Ask politely."},
		{Name: "files", Type: expert.StdioSkill, Rule: "Read before you write.\n"},
		{Name: "quiet", Type: expert.StdioSkill},
	}
	turns := map[string][]turn{
		"writer": {does(`helper {"query":"help"}`), says("done")},
		"helper": {says("helped")},
	}
	for name, prepare := range map[string]func() (b *bench, request int){
		"alone":    func() (*bench, int) { return newBench(t, says("ok")), 0 },
		"delegate": func() (*bench, int) { return newTeam(t, turns), 1 },
		"delegates": func() (*bench, int) {
			b := newTeam(t, turns)
			b.team[0].Description = "Helps with \"everything\"."
			return b, 0
		},
		"no_instruction": func() (*bench, int) {
			b := newBench(t, says("ok"))
			b.expert.Instruction = ""
			return b, 0
		},
		"skill_rules": func() (*bench, int) {
			b := newTeam(t, turns)
			b.expert.Skills = rules
			return b, 0
		},
		"skill_rules_of_a_delegate": func() (*bench, int) {
			b := newTeam(t, turns)
			b.team[0].Skills = rules
			return b, 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, request := prepare()
			b.must(job.Input{Query: "go"})
			testkit.Golden(t, "instruction_"+name+".md", b.script.requests[request].Messages[0].Text()+"\n")
		})
	}
}
