package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

const asking = `
[experts.a]
instruction = "x"
[experts.a.skills.one]
type = "mcpStdioSkill"
command = "one"
requiredEnv = ["SET", "GONE", "EMPTY", "GONE"]
[experts.a.skills.two]
type = "mcpHttpSkill"
endpoint = "https://two.example"
requiredEnv = ["OPENAI_API_KEY"]
headers = {X = "${OPENAI_API_KEY}"}
[experts.a.skills.ask]
type = "interactiveSkill"
tools = {}
`

// Everything that is missing is told at once, skill by skill.
func TestMissingEnv(t *testing.T) {
	e := check(t, asking).Experts[0]
	env := map[string]string{"SET": "v", "EMPTY": ""}
	const want = `skill "one": GONE is not set (declared in requiredEnv); set it in the environment or in .env
skill "one": EMPTY is not set (declared in requiredEnv); set it in the environment or in .env
skill "two": OPENAI_API_KEY is not set (declared in requiredEnv); set it in the environment or in .env`
	err := e.MissingEnv(func(name string) string { return env[name] }).Err()
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	again := e.MissingEnv(func(name string) string { return env[name] })
	if err := append(again, again...).Err(); err.Error() != want {
		t.Errorf("two Experts with the same skills:\n%v", err)
	}
	if err := e.MissingEnv(func(string) string { return "v" }).Err(); err != nil {
		t.Error(err)
	}
	// The built-in base skill gets no variables.
	builtIn := &expert.Expert{Skills: []*expert.Skill{{Name: expert.BaseSkill, BuiltIn: true, RequiredEnv: []string{"X"}}}}
	if err := builtIn.MissingEnv(func(string) string { return "" }).Err(); err != nil {
		t.Error(err)
	}
}

// Keys of all providers count, in any letter case, each once.
func TestProviderKeys(t *testing.T) {
	s := &expert.Skill{RequiredEnv: []string{"SEARCH_KEY", "OPENAI_API_KEY", "anthropic_api_key", "OPENAI_API_KEY", "GITHUB_TOKEN"}}
	if got := ProviderKeys(s); !slices.Equal(got, []string{"OPENAI_API_KEY", "anthropic_api_key"}) {
		t.Errorf("keys = %q", got)
	}
	if got := ProviderKeys(&expert.Skill{RequiredEnv: []string{"A", "API_KEY"}}); got != nil {
		t.Errorf("keys = %q", got)
	}
}

// The key of the provider that a flag names is kept from skills as that of the file is.
func TestRefusedEnv(t *testing.T) {
	refused := func(e *expert.Expert, provider string) expert.VariableProblems {
		return RefusedEnv(&job.Spec{Experts: []*expert.Expert{e}, Settings: job.Settings{Provider: provider}})
	}
	e := check(t, asking).Experts[0]
	for _, provider := range []string{"", "anthropic", "replay", "google"} {
		if err := refused(e, provider).Err(); err != nil {
			t.Errorf("provider %q: %v", provider, err)
		}
	}
	const want = `skill "two": "OPENAI_API_KEY" is the key of provider openai; skills cannot have it; give the skill a key of its own under another name`
	if err := refused(e, "openai").Err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	// This holds for every Expert: one from a registry did not go through our Parse.
	for _, name := range []string{"PERSTACK_API_KEY", "perstack_x", "LD_PRELOAD", "Path", "npm_config_registry", "ANTHROPIC_API_KEY", "A=B", ""} {
		foreign := &expert.Expert{Name: "f", Skills: []*expert.Skill{{Name: "s", Type: expert.StdioSkill, Command: "x", RequiredEnv: []string{name}}}}
		if found := refused(foreign, job.DefaultProvider); len(found) != 1 || found[0].Variable != name || found[0].Expert != "f" || found[0].Skill != "s" {
			t.Errorf("%q: %v", name, found)
		}
	}
}

// No skill of a file gets the key of a provider that one of its Experts names, in whatever
// order the file declares them.
func TestKeysOfOwnProviders(t *testing.T) {
	const skill = "[experts.%s.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nrequiredEnv = ['openai_api_key']\n"
	const own = "[experts.own]\ninstruction = 'x'\n"
	const provider = "[experts.own.provider]\nproviderName = 'openai'\n"
	const other = "[experts.other]\ninstruction = 'x'\n"
	for name, text := range map[string]string{
		"its own":            own + provider + strings.ReplaceAll(skill, "%s", "own"),
		"its own, after":     own + strings.ReplaceAll(skill, "%s", "own") + provider,
		"of another":         own + provider + other + strings.ReplaceAll(skill, "%s", "other"),
		"of another, after":  other + strings.ReplaceAll(skill, "%s", "other") + own + provider,
		"of an inline table": other + strings.ReplaceAll(skill, "%s", "other") + own + "provider = {providerName = 'openai'}",
		"beside the job's":   "[provider]\nproviderName = 'google'\n" + own + provider + strings.ReplaceAll(skill, "%s", "own"),
	} {
		_, problems := Parse("p.toml", []byte(text))
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), `skills.s.requiredEnv.0: "openai_api_key" is the key of provider openai`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, own+"provider = {providerName = 'google'}\n"+strings.ReplaceAll(skill, "%s", "own"))
}

func TestVariableNames(t *testing.T) {
	for _, s := range []string{"PERSTACK_API_KEY", "perstack_api_key", "anthropic_api_key", "", "A=B", "A\x00", "$A", strings.Repeat("A", 256)} {
		if message, _ := checkVariable(s, []string{job.DefaultProvider}); message == "" {
			t.Errorf("%q is accepted", s)
		}
	}
	for _, s := range []string{"EXA_API_KEY", "a-b", "1A", "OPENAI_API_KEY"} {
		if message, _ := checkVariable(s, []string{job.DefaultProvider}); message != "" {
			t.Errorf("%q: %s", s, message)
		}
	}
}
