package manifest

import (
	"slices"
	"testing"

	"github.com/perstack-go/perstack/expert"
)

// baseWith is a file with an entry for a skill that starts a program. Its keys start on line 5.
func baseWith(name, keys string) string {
	return expertWith("[experts.a.skills.\"" + name + "\"]\ntype = 'mcpStdioSkill'\n" + keys)
}

const npx = "command = 'npx'\n"

// Who serves the base skill is decided when the file is read.
func TestBaseSkill(t *testing.T) {
	const replaced = "perstackBaseSkillCommand = ['node', 'x']\n"
	far := expertWith("[experts.a.skills.\"@perstack/base\"]\ntype = 'mcpHttpSkill'\nendpoint = 'https://b.example'")
	for name, c := range map[string]struct {
		text string
		line []string // what is started; nil for the built-in one
	}{
		"implicit":               {expertWith(""), nil},
		"empty table":            {expertWith("[experts.a.skills]"), nil},
		"other skill":            {baseWith("x", npx+"packageName = 'x'"), nil},
		"package":                {baseWith(expert.BaseSkill, npx+"packageName = '@perstack/base'\npick = ['think']"), nil},
		"package alone":          {baseWith(expert.BaseSkill, "packageName = '@perstack/base'"), nil},
		"args":                   {baseWith(expert.BaseSkill, npx+"args = ['-y', '@perstack/base']"), nil},
		"npx alone":              {baseWith(expert.BaseSkill, npx), nil},
		"only pick":              {baseWith(expert.BaseSkill, "pick = ['think']"), nil},
		"like base":              {baseWith("tools", npx+"packageName = '@perstack/base-tools'"), nil},
		"named by another":       {baseWith("look", npx+"args = ['inspector', '@perstack/base']"), nil},
		"version":                {baseWith(expert.BaseSkill, npx+"packageName = '@perstack/base@0.0.34'"), []string{"npx", "@perstack/base@0.0.34"}},
		"version, no command":    {baseWith(expert.BaseSkill, "packageName = '@perstack/base@0.0.34'"), []string{"npx", "@perstack/base@0.0.34"}},
		"latest":                 {baseWith(expert.BaseSkill, npx+"args = ['@perstack/base@latest']"), []string{"npx", "@perstack/base@latest"}},
		"with arguments":         {baseWith(expert.BaseSkill, npx+"args = ['@perstack/base', '-v']"), []string{"npx", "@perstack/base", "-v"}},
		"other package":          {baseWith(expert.BaseSkill, npx+"packageName = 'x'"), []string{"npx", "x"}},
		"other package, picking": {baseWith(expert.BaseSkill, npx+"packageName = 'x'\npick = ['theirs']\nomit = ['exce']"), []string{"npx", "x"}},
		"other command":          {baseWith(expert.BaseSkill, "command = 'node'\nargs = ['x.js']"), []string{"node", "x.js"}},
		"program":                {baseWith(expert.BaseSkill, "command = './base'"), []string{"./base"}},
		"remote":                 {far, []string{}},
		"replaced":               {replaced + expertWith(""), []string{"node", "x"}},
		"replaced by a program":  {"perstackBaseSkillCommand = ['x']\n" + expertWith(""), []string{"x"}},
		"replaced by a package":  {"perstackBaseSkillCommand = ['npx', '-y', 'x']\n" + expertWith(""), []string{"npx", "x"}},
		"replaced, declared":     {replaced + baseWith(expert.BaseSkill, npx+"packageName = '@perstack/base'\npick = ['theirs']"), []string{"node", "x"}},
		"replaced, pinned":       {replaced + baseWith(expert.BaseSkill, npx+"packageName = '@perstack/base@1.0.0'"), []string{"npx", "@perstack/base@1.0.0"}},
		"replaced, own command":  {replaced + baseWith(expert.BaseSkill, "command = './base'"), []string{"./base"}},
		"replaced, remote":       {replaced + far, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := check(t, c.text)
			s, ok := cfg.Experts[0].Skill(expert.BaseSkill)
			if !ok || !s.IsBase() || s.BuiltIn != (c.line == nil) {
				t.Fatalf("base skill %+v, found %v", s, ok)
			}
			line, err := s.CommandLine()
			if p, ok := s.Package(); ok {
				line, err = append([]string{p.Manager, p.Spec()}, p.Args...), nil
			}
			if !slices.Equal(line, c.line) || (err != nil) != (len(c.line) == 0) {
				t.Errorf("starts %q, error %v, want %q", line, err, c.line)
			}
			if !s.BuiltIn && s.Type == expert.StdioSkill && s.PackageName != "" && len(s.Args) > 0 {
				t.Errorf("two ways to start it: %+v", s)
			}
			for _, other := range cfg.Experts[0].Skills {
				if other != s && (other.IsBase() || other.BuiltIn) {
					t.Errorf("%q is taken for the base skill", other.Name)
				}
			}
		})
	}
}

func TestBaseSkillProblems(t *testing.T) {
	const path = `experts.a.skills."@perstack/base"`
	for _, c := range []struct {
		text string
		want []string
	}{
		{baseWith("mine", npx+"packageName = '@perstack/base'"), []string{
			`p.toml:3:19: experts.a.skills.mine: is the base skill under another name; call it "@perstack/base"`}},
		{baseWith("mine", npx+"args = ['-p', '@perstack/base', 'base']"), []string{
			`p.toml:3:19: experts.a.skills.mine: is the base skill under another name; call it "@perstack/base"`}},
		{baseWith(expert.BaseSkill, npx+"packageName = '@perstack/base'\n[experts.a.skills.mine]\ntype='mcpStdioSkill'\ncommand='npx'\nargs=['-y','@perstack/base@1.0.0']"), []string{
			`p.toml:7:19: experts.a.skills.mine: is a second entry for the base skill; the first is on line 3`}},
		{expertWith("[experts.a.skills.\"@perstack/base\"]\ntype='interactiveSkill'\ntools={}"), []string{
			`p.toml:3:19: ` + path + `: the base skill cannot be an interactiveSkill; give this skill another name`}},
		{baseWith("@perstack/plan", "command = 'server'"), []string{
			`p.toml:3:19: experts.a.skills."@perstack/plan": is the name of a skill of perstack itself; give this skill another name`}},
		{baseWith(expert.BaseSkill, "args = ['x']"), []string{
			`p.toml:3:19: ` + path + `.command: is required; name the program to start instead of the built-in base skill`}},
		{baseWith(expert.BaseSkill, "command = 'uvx'"), []string{
			`p.toml:3:19: ` + path + `: has no packageName or args; write packageName = "name" or args = ["…"]`}},
		{baseWith(expert.BaseSkill, "packageName = '@perstack/base-tools'"), []string{
			`p.toml:3:19: ` + path + `.command: is required; name the program to start instead of the built-in base skill`}},
		{baseWith(expert.BaseSkill, npx+"args = ['-c', 'x']"), []string{
			`p.toml:6:9: ` + path + `.args.0: npx does not get the option "-c"; before the package only -y, --yes, -q, --quiet, -p, --package or -- may stand; what the server gets comes after it`}},
		{baseWith(expert.BaseSkill, "lazyInit=true\nrequiredEnv=['X']\ntoolPrefix=true\nstartTimeout=1\ncallTimeout=1"), []string{
			`p.toml:5:1: warning: ` + path + `.lazyInit: has no effect on the base skill; it always starts first; remove it`,
			`p.toml:6:1: warning: ` + path + `.requiredEnv: has no effect on the base skill; the built-in one reads no variables; remove it`,
			`p.toml:7:1: warning: ` + path + `.toolPrefix: has no effect on the base skill; its tools keep their names; remove it`,
			`p.toml:8:1: warning: ` + path + `.startTimeout: has no effect on the base skill; the built-in one is not started; remove it`,
			`p.toml:9:1: warning: ` + path + `.callTimeout: has no effect on the base skill; the built-in one keeps its own limits; remove it`}},
		{baseWith(expert.BaseSkill, "command='node'\nargs=['x.js']\nlazyInit=true\nrequiredEnv=['X']\nstartTimeout=1"), []string{
			`p.toml:7:1: warning: ` + path + `.lazyInit: has no effect on the base skill; it always starts first; remove it`}},
	} {
		cfg := check(t, c.text, c.want...)
		if cfg == nil {
			continue
		}
		if s, _ := cfg.Experts[0].Skill(expert.BaseSkill); s.LazyInit || s.ToolPrefix {
			t.Errorf("the keys have an effect: %+v", s)
		}
	}
}
