package expert

import (
	"slices"
	"testing"
)

func TestStricter(t *testing.T) {
	order := []SandboxLevel{"", SandboxOff, SandboxAuto, SandboxLandlock, SandboxFull}
	for i, a := range order {
		for j, b := range order {
			want := order[max(i, j)]
			if got := a.Stricter(b); got != want || (a.Compare(b) < 0) != (i < j) || (a.Compare(b) == 0) != (i == j) {
				t.Errorf("%q and %q: %q", a, b, got)
			}
		}
		if a.Restricts() != (i > 1) {
			t.Errorf("%q", a)
		}
	}
	if later := SandboxLevel("later"); later.Stricter(SandboxLandlock) != later || !later.Restricts() || later.Compare(SandboxFull) != 0 {
		t.Error("a level of a later version is lowered")
	}
}

func TestStartsPrograms(t *testing.T) {
	base := func(pick, omit []string) *Skill {
		return &Skill{Name: BaseSkill, Type: StdioSkill, BuiltIn: true, Pick: pick, Omit: omit}
	}
	exec := []string{ExecTool, "readTextFile"}
	for _, c := range []struct {
		skill *Skill
		want  bool
	}{
		{base(nil, nil), true},
		{base(exec, nil), true},
		{base(exec[1:], nil), false},
		{base(nil, exec), false},
		{base(exec, exec[:1]), false},
		{&Skill{Name: BaseSkill, Type: StdioSkill, Omit: exec}, true}, // another program serves it
		{&Skill{Name: "s", Type: StdioSkill, Omit: exec}, true},
		{&Skill{Name: "s", Type: HTTPSkill}, false},
		{&Skill{Name: "s", Type: InteractiveSkill}, false},
	} {
		if got := c.skill.StartsPrograms(); got != c.want {
			t.Errorf("%+v: %v", c.skill, got)
		}
		for _, level := range []SandboxLevel{"", SandboxOff, SandboxAuto, SandboxFull} {
			if got := c.skill.Sandboxed("local", level); got != (c.want && level.Restricts()) {
				t.Errorf("%+v at %q: %v", c.skill, level, got)
			}
		}
	}
}

// The right of file tools to the workspace is kept without programs.
func TestUsesSandbox(t *testing.T) {
	quiet := &Skill{Name: BaseSkill, Type: StdioSkill, BuiltIn: true, Omit: []string{ExecTool}}
	if quiet.UsesSandbox() || quiet.Sandboxed(DockerRuntime, SandboxFull) {
		t.Error("a skill without programs has a sandbox")
	}
	quiet.Workspace = WorkspaceRead
	if !quiet.UsesSandbox() || quiet.StartsPrograms() || !quiet.Sandboxed("local", SandboxLandlock) || quiet.Sandboxed("local", SandboxOff) {
		t.Error("the right to the workspace is lost")
	}
}

func FuzzParseSandboxLevel(f *testing.F) {
	for _, s := range []string{"auto", "full", "landlock", "off", "", "true", "OFF", " off"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		level, err := ParseSandboxLevel(text)
		if known := slices.Contains(SandboxLevels(), text); known != (err == nil) || known && string(level) != text || !known && level != "" {
			t.Errorf("%q: %q, %v", text, level, err)
		}
	})
}
