package skill_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/skill"
)

// What providers accept as the name of a tool.
var grammar = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestOfferedNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	tests := []struct {
		skill, tool string
		prefix      bool
		want        string
	}{
		{"files", "read", false, "read"},
		{"files", "read", true, "files__read"},
		{"files", "read.file/now", false, "read_file_now"},
		{"@scope/files", "read", true, "_scope_files__read"},
		{"files", "日本", false, "__"},
		{"files", "re\u200bad", false, "re_ad"},
		{"files", long[:64], false, long[:64]},
		{"files", long, false, long[:55] + "_c71bd109"},
		{"files", long[:64], true, "files__" + long[:48] + "_c0067b28"},
		{event.BaseSkill, "attemptCompletion", true, "attemptCompletion"},
	}
	for _, tt := range tests {
		f := &fake{name: tt.skill, tools: []string{tt.tool}}
		box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: f, Prefix: tt.prefix}}, quiet)
		if err != nil {
			t.Errorf("%q of %q: %v", tt.tool, tt.skill, err)
			continue
		}
		if got := names(box); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%q of %q: offered as %q, want %q", tt.tool, tt.skill, got, tt.want)
		}
		if _, err := box.Call(t.Context(), event.ToolCall{ToolName: tt.want}); err != nil || len(f.called) != 1 || f.called[0].ToolName != tt.tool {
			t.Errorf("%q of %q: called as %+v, %v", tt.tool, tt.skill, f.called, err)
		}
	}
}

// M2 and the collisions: the error names the skills, and says what to do.
func TestToolboxRefuses(t *testing.T) {
	one := func(name string, tools ...string) skill.Source {
		return skill.Source{Skill: &fake{name: name, tools: tools}}
	}
	question := skill.Source{Skill: &fake{name: "user", tools: []string{"a"}, kind: skill.Interactive}}
	asks := func(name, tool string) skill.Source {
		return skill.Source{Skill: &fake{name: name, tools: []string{tool}, kind: skill.Delegate}}
	}
	base := one(event.BaseSkill, "attemptCompletion", "exec")
	narrow := base
	narrow.Filter = skill.Filter{Omit: []string{"exec"}}
	useless := base
	useless.Filter = skill.Filter{Pick: []string{"exec"}}
	sprefixed := one("s", "b__a")
	sprefixed.Prefix = true
	served := useless
	served.Served = true
	tests := []struct {
		name    string
		sources []skill.Source
		want    string // "" for none
	}{
		{"two skills", []skill.Source{one("one", "a"), one("two", "b", "a")}, `skills "one" and "two" both offer a tool named "a"; leave it out with omit, or set toolPrefix = true for the skill`},
		{"a question", []skill.Source{one("one", "a"), question}, `skills "one" and "user" both offer a tool named "a"; give the question another name`},
		{"after sanitising", []skill.Source{one("one", "a.b"), one("two", "a_b")}, `skills "one" and "two" both offer a tool named "a_b"`},
		{"by a prefix", []skill.Source{one("two", "s__b__a"), sprefixed}, `skills "two" and "s" both offer a tool named "s__b__a"`},
		{"within one skill", []skill.Source{one("one", "a.b", "a/b")}, `skill "one" offers the tools "a.b" and "a/b", which are both called "a_b" here; leave one out with omit`},
		{"twice", []skill.Source{one("one", "a", "a")}, `skill "one" offers the tool "a" twice`},
		{"a reserved name", []skill.Source{one("one", "readTextFile")}, `skill "one" offers a tool named "readTextFile", which is a name of the base skill "@perstack/base"; leave it out with omit, or set toolPrefix = true`},
		{"one that base omits", []skill.Source{narrow, one("one", "exec")}, `which is a name of the base skill`},
		{"a skill and a delegate", []skill.Source{one("one", "a"), asks("@x/a", "a")}, `skill "one" and delegate "@x/a" both offer a tool named "a"; leave it out with omit, or set toolPrefix = true for the skill; ` +
			`or give the Expert another name, since the last part of it is the name of the tool`},
		{"a delegate and a question", []skill.Source{asks("@x/a", "a"), question}, `delegate "@x/a" and skill "user" both offer a tool named "a"; give the Expert another name, since the last part of it is the name of the tool; or give the question another name`},
		{"two delegates", []skill.Source{asks("@x/a", "a"), asks("@y/a", "a")}, `delegates "@x/a" and "@y/a" would both be called as the tool "a"; give the Expert another name`},
		{"two delegates after sanitising", []skill.Source{asks("a.b", "a.b"), asks("a_b", "a_b")}, `delegates "a.b" and "a_b" would both be called as the tool "a_b"`},
		{"one delegate twice", []skill.Source{asks("@x/a", "a"), asks("@x/a", "a")}, `delegate "@x/a" is there twice; name it once in delegates`},
		{"a delegate with a reserved name", []skill.Source{asks("@x/exec", "exec")}, `delegate "@x/exec" offers a tool named "exec", which is a name of the base skill "@perstack/base"; give the Expert another name`},
		{"a reserved name that base omits", []skill.Source{narrow, asks("exec", "exec")}, `delegate "exec" offers a tool named "exec", which is a name of the base skill`},
		{"a delegate that poses as base", []skill.Source{base, asks(event.BaseSkill, "base")}, `delegate "@perstack/base" has the name of the base skill; give the Expert another name`},
		{"one that could end the run", []skill.Source{narrow, asks(event.BaseSkill, "exec")}, `delegate "@perstack/base" has the name of the base skill`},
		{"a skill named like a delegate", []skill.Source{base, one("a", "b"), asks("a", "a")}, ""},
		{"base without an end", []skill.Source{useless}, `skill "@perstack/base" is left without the tool "attemptCompletion"`},
		{"base for a client", []skill.Source{served}, ""},
		{"base", []skill.Source{base, one("one", "a")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := skill.NewToolbox(t.Context(), tt.sources, quiet)
			switch {
			case err == nil && tt.want != "":
				t.Errorf("accepted, want %q", tt.want)
			case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v\nwant %q", err, tt.want)
			}
		})
	}
}

// All names of base tools are kept for it, not those alone that somebody thought of.
func TestReservedNames(t *testing.T) {
	for _, name := range prompt.Names() {
		f := &fake{name: "evil", tools: []string{name}}
		if _, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: f}}, quiet); err == nil {
			t.Errorf("a skill may offer %s", name)
		}
		if f.closed != 1 {
			t.Errorf("%s: closed %d times", name, f.closed)
		}
		if _, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: f, Prefix: true}}, quiet); err != nil {
			t.Errorf("with a prefix: %v", err)
		}
	}
}

func TestUnknownNamesInFilters(t *testing.T) {
	var log bytes.Buffer
	f := &fake{name: "files", tools: []string{"read", "write"}}
	_, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: f, Filter: skill.Filter{Pick: []string{"read", "raed"}, Omit: []string{"wirte"}}}},
		slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tool=raed in=pick", "tool=wirte in=omit", "skill=files"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}

// C4, M9: what is left out cannot be called, under whatever name.
func TestOmittedIsNeverCalled(t *testing.T) {
	f := &fake{name: "s", tools: []string{"a.b", "c"}}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: f, Filter: skill.Filter{Omit: []string{"a.b"}}, Prefix: true}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.b", "a_b", "s__a.b", "s__a_b", "c", ""} {
		if _, err := box.Call(t.Context(), event.ToolCall{SkillName: "s", ToolName: name}); err == nil {
			t.Errorf("%q was called", name)
		}
	}
	if len(f.called) != 0 {
		t.Errorf("called: %+v", f.called)
	}
}

// Whatever skills, lists and filters there are: every name that is offered is one that
// providers accept, stands for one tool, and calls that one; and nothing is called that
// a filter leaves out.
func TestTableProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		toolName := rapid.OneOf(
			rapid.SampledFrom([]string{"a", "b", "a.b", "a_b", "a/b", "exec", "b__a", "日", "x\u200b", ""}),
			rapid.StringN(0, 90, -1),
			rapid.StringMatching(`[a-z]{60,70}`),
		)
		var sources []skill.Source
		fakes := make(map[string]*fake)
		for i := range rapid.IntRange(1, 4).Draw(t, "skills") {
			f := &fake{name: rapid.SampledFrom([]string{"s", "t", "@x/y", strings.Repeat("n", 40)}).Draw(t, "name") + fmt.Sprint(i)}
			f.tools = rapid.SliceOfN(toolName, 0, 6).Draw(t, "tools")
			filter := skill.Filter{
				Pick: rapid.SliceOfN(rapid.SampledFrom(append(f.tools, "none")), 0, 3).Draw(t, "pick"),
				Omit: rapid.SliceOfN(rapid.SampledFrom(append(f.tools, "none")), 0, 2).Draw(t, "omit"),
			}
			fakes[f.name] = f
			sources = append(sources, skill.Source{Skill: f, Filter: filter, Prefix: rapid.Bool().Draw(t, "prefix"), Background: rapid.Bool().Draw(t, "background")})
		}
		box, err := skill.NewToolbox(t.Context(), sources, quiet)
		if err != nil {
			return // a collision; TestToolboxRefuses says which
		}
		defer box.Close()
		if box.Ready(t.Context()) != nil {
			return
		}
		seen := make(map[string]bool)
		for _, tool := range box.Tools() {
			if !grammar.MatchString(tool.Name) || seen[tool.Name] {
				t.Fatalf("offered %q", tool.Name)
			}
			seen[tool.Name] = true
			_, owner, ok := box.Lookup(tool.Name)
			f := fakes[owner]
			if !ok || f == nil {
				t.Fatalf("%q is not found", tool.Name)
			}
			f.called = nil
			if _, err := box.Call(t.Context(), event.ToolCall{ToolName: tool.Name}); err != nil || len(f.called) != 1 {
				t.Fatalf("%q: called %+v, %v", tool.Name, f.called, err)
			}
			// The fake writes the name and the owner of a tool into its description.
			ran := f.called[0].ToolName
			if want := terminal.Reveal(ran + " of " + owner); tool.Description != want {
				t.Fatalf("%q: shown %q, ran %q", tool.Name, tool.Description, want)
			}
			for _, s := range sources {
				if s.Skill.Name() == owner && !s.Filter.Allows(ran) {
					t.Fatalf("%q ran %q, which is left out", tool.Name, ran)
				}
			}
		}
	})
}

// What would keep a box from being made is known from the lists alone, in the same words.
func TestCollisions(t *testing.T) {
	tools := func(names ...string) (all []skill.Tool) {
		for _, name := range names {
			all = append(all, skill.Tool{Name: name, InputSchema: []byte(`{"type":"object"}`)})
		}
		return all
	}
	for want, skills := range map[string][]skill.Listed{
		"[]": {
			{Name: event.BaseSkill, Tools: tools("attemptCompletion")}, {Name: "a", Tools: tools("find", "exec"), Filter: skill.Filter{Omit: []string{"exec"}}},
			{Name: "b", Tools: tools("find"), Prefix: true},
		},
		`[skill "a" and delegate "@x/find" both offer a tool named "find"; leave it out with omit, or set toolPrefix = true for the skill; or give the Expert another name, since the last part of it is the name of the tool]`: {
			{Name: "a", Tools: tools("find")}, {Name: "@x/find", Tools: []skill.Tool{{Name: "find", Kind: skill.Delegate}}},
		},
		`[skills "a" and "b" both offer a tool named "find_it"; leave it out with omit, or set toolPrefix = true for the skill` +
			` skill "c" offers a tool named "exec", which is a name of the base skill "@perstack/base"; leave it out with omit, or set toolPrefix = true for the skill]`: {
			{Name: "a", Tools: tools("find_it")}, {Name: "b", Tools: tools("find.it")}, {Name: "c", Tools: tools("exec")},
		},
	} {
		if got := fmt.Sprint(skill.Collisions(skills)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
