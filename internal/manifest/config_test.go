package manifest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// full sets every key there is.
const full = `
model = "claude-sonnet-4-5"
reasoningBudget = 4096
runtime = "docker"
maxSteps = 50
maxTokens = 2_000_000
maxCost = 1.25
maxDuration = "1h30m"
maxDepth = 4
maxParallel = 1000
maxRetries = 0
timeout = 60_000
maxWorkspaceBytes = 5_000_000_000
perstackApiBaseUrl = "https://registry.example"
perstackBaseSkillCommand = ["node", "base.js"]
envPath = [".env", "~/keys.env"]

[provider]
providerName = "anthropic"

[experts.zoe]
version = "1.2.3-rc.1"
minRuntimeVersion = "v1.0"
description = "Finds things."
instruction = """
Find things.
"""
delegates = ["@acme/writer", "adam"]
tags = ["search", "beta"]
maxSteps = 9
maxTokens = 10_000
maxCost = 2
maxDuration = "90s"
providerTools = ["webSearch"]
providerSkills = [{type = "builtin", skillId = "pdf"}, {type = "custom", name = "n", definition = "d"}]

[experts.zoe.providerToolOptions]
webSearch = {maxUses = 3, allowedDomains = ["example.com"]}
webFetch = {maxUses = 1}
fileSearch = {vectorStoreIds = ["vs"], maxNumResults = 9}

[experts.zoe.skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
pick = ["think", "readTextFile"]
omit = ["exec"]

[experts.zoe.skills.search]
type = "mcpStdioSkill"
description = "Search"
rule = "Search first."
command = "npx"
args = ["-y", "search-server@1.0.0"]
requiredEnv = ["SEARCH_KEY"]
allowedDomains = ["*.search.example"]
lazyInit = true
toolPrefix = true
startTimeout = 120_000
callTimeout = 1

[experts.zoe.skills.events]
type = "mcpSseSkill"
endpoint = "https://events.example/sse"
requiredEnv = ["EVENTS_KEY"]
headers = {X-Team = "blue", Authorization = "Bearer ${EVENTS_KEY}"}

[experts.zoe.skills.local]
type = "mcpHttpSkill"
endpoint = "http://localhost:3000/mcp"
allowPrivateEndpoint = true

[experts.zoe.skills.user]
type = "interactiveSkill"

[experts.zoe.skills.user.tools.ask]
name = "ask"
description = "Ask."
inputJsonSchema = '{"type": "object"}'

[experts.adam]
instruction = "Be first."

[prices."claude-sonnet-4-5"]
input = 3
output = 15.0
cachedInput = 0.3
cacheWrite = 3.75

[prices.house]
input = 0.5
output = 0

[docker]
memory = "4GiB"
memoryReservation = "512MiB"
cpus = 1.5
pids = 512
tmpSize = 1073741824
cacheSize = "1GB"
baseImage = "registry.example:5000/team/tools:12"
readOnlyWorkspace = true
dns = ["10.0.0.53", "2001:db8::53"]
network = "corporate"
buildTimeout = "5m"
startTimeout = "30s"
idleTimeout = "15s"
totalTimeout = "1h30m"
maxJournalBytes = "100MB"
`

func TestFullFile(t *testing.T) {
	got := check(t, full)
	if got == nil {
		t.FailNow()
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Path: filepath.Join(dir, "p.toml"), Dir: dir,
		Settings: job.Settings{
			Provider: "anthropic", Model: "claude-sonnet-4-5", Reasoning: "4096", Runtime: "docker",
			Limits: job.Limits{
				Limits:   expert.Limits{MaxSteps: 50, MaxTokens: 2_000_000, MaxCost: 1.25, MaxDuration: 90 * time.Minute},
				MaxDepth: 4, MaxParallel: 1000, MaxRetries: job.None, Timeout: time.Minute, MaxWorkspaceBytes: 5_000_000_000,
			},
			Isolation: job.Isolation{Container: job.Container{
				Memory: 4 << 30, MemoryReservation: 512 << 20, CPUs: 1.5, PIDs: 512, TmpSize: 1 << 30, CacheSize: 1e9,
				BaseImage: "registry.example:5000/team/tools:12", ReadOnlyWorkspace: true, DNS: []string{"10.0.0.53", "2001:db8::53"}, Network: "corporate",
				BuildTimeout: 5 * time.Minute, StartTimeout: 30 * time.Second, IdleTimeout: 15 * time.Second, TotalTimeout: 90 * time.Minute, MaxJournalBytes: 1e8,
			}},
		},
		APIBaseURL: "https://registry.example", BaseSkillCommand: []string{"node", "base.js"},
		Prices: map[string]expert.Price{
			"claude-sonnet-4-5": {Input: 3, Output: 15, CachedInput: 0.3, CacheWrite: 3.75},
			"house":             {Input: 0.5, Output: 0, CachedInput: 0.5, CacheWrite: 0.5},
		},
		EnvPath: []string{".env", "~/keys.env"},
		Experts: []*expert.Expert{{
			Key: "zoe", Name: "zoe", Version: "1.2.3-rc.1", MinRuntimeVersion: "v1.0",
			Description: "Finds things.", Instruction: "Find things.\n",
			Delegates: []string{"@acme/writer", "adam"}, Tags: []string{"search", "beta"},
			Limits:         expert.Limits{MaxSteps: 9, MaxTokens: 10_000, MaxCost: 2, MaxDuration: 90 * time.Second},
			ProviderTools:  []string{"webSearch"},
			ProviderSkills: []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}, {Type: "custom", Name: "n", Definition: "d"}},
			ProviderToolOptions: &expert.ProviderToolOptions{
				WebSearch:  &expert.WebSearchOptions{MaxUses: 3, AllowedDomains: []string{"example.com"}},
				WebFetch:   &expert.WebFetchOptions{MaxUses: 1},
				FileSearch: &expert.FileSearchOptions{VectorStoreIDs: []string{"vs"}, MaxNumResults: 9},
			},
			Skills: []*expert.Skill{
				{Name: "@perstack/base", Type: expert.StdioSkill, Command: "node", Args: []string{"base.js"}, Pick: []string{"think", "readTextFile"}, Omit: []string{"exec"}},
				{Name: "search", Type: expert.StdioSkill, Description: "Search", Rule: "Search first.", Command: "npx", Args: []string{"-y", "search-server@1.0.0"},
					RequiredEnv: []string{"SEARCH_KEY"}, AllowedDomains: []string{"*.search.example"}, LazyInit: true,
					ToolPrefix: true, StartTimeout: 2 * time.Minute, CallTimeout: time.Millisecond},
				{Name: "events", Type: expert.SSESkill, Endpoint: "https://events.example/sse", RequiredEnv: []string{"EVENTS_KEY"},
					Headers: []expert.Header{{Name: "X-Team", Value: "blue"}, {Name: "Authorization", Value: "Bearer ${EVENTS_KEY}"}}},
				{Name: "local", Type: expert.HTTPSkill, Endpoint: "http://localhost:3000/mcp", AllowPrivateEndpoint: true},
				{Name: "user", Type: expert.InteractiveSkill, Tools: []expert.InteractiveTool{{Name: "ask", Description: "Ask.", InputSchema: []byte(`{"type": "object"}`)}}},
			},
		}, {
			Key: "adam", Name: "adam", Version: "1.0.0", Instruction: "Be first.",
			Skills: []*expert.Skill{{Name: "@perstack/base", Type: expert.StdioSkill, Description: "Base skill", Command: "node", Args: []string{"base.js"}, Implicit: true}},
		}},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Absent is not the same as zero, and no default is filled in.
func TestAbsentValues(t *testing.T) {
	c := check(t, "")
	if c.Settings.Limits != (job.Limits{}) || c.Prices != nil || c.EnvPath != nil || c.Settings.Provider != "" || c.Settings.Runtime != "" || c.Settings.Reasoning != "" {
		t.Errorf("an empty file says %+v", c)
	}
	c = check(t, "maxRetries = 0\ntimeout = 0\nenvPath = []")
	if c.Settings.Limits.MaxRetries != job.None || c.Settings.Limits.Timeout != job.None || c.EnvPath == nil || len(c.EnvPath) != 0 {
		t.Errorf("zeros are lost: %+v", c)
	}
	if c := check(t, "perstackBaseSkillCommand = []"); c.BaseSkillCommand != nil {
		t.Error("an empty base skill command is not the same as none")
	}
	if c := check(t, "runtime = 'perstack'", `p.toml:1:11: warning: runtime: "perstack" is the older name of the built-in runtime; write "local"`); c.Settings.Runtime != "local" {
		t.Errorf("the older name perstack is read as %q", c.Settings.Runtime)
	}
}

func TestLookup(t *testing.T) {
	c := check(t, "[experts.a]\ninstruction='x'\nversion='1.2.3'\n[experts.\"@o/b\"]\ninstruction='x'")
	for key, want := range map[string]string{
		"a": "a", "a@1.2.3": "a", "@o/b": "@o/b", "@o/b@1.0.0": "@o/b",
		"a@1.2.4": "", "a@latest": "", "b": "", "": "", "A": "", "a@": "",
	} {
		e, ok := c.Lookup(key)
		if ok != (want != "") || ok && e.Name != want {
			t.Errorf("Lookup(%q) = %v, %v", key, e, ok)
		}
	}
}

// The order of the file is kept, also for tables that appear piece by piece.
func TestFileOrder(t *testing.T) {
	c := check(t, `
[experts.z.skills.two]
type = "mcpStdioSkill"
command = "node"
args = ["two.js"]
[experts.a]
instruction = "x"
[experts.z]
instruction = "x"
[experts.z.skills.one]
type = "mcpStdioSkill"
command = "node"
args = ["one.js"]
`)
	var got []string
	for _, e := range c.Experts {
		for _, s := range e.Skills {
			got = append(got, e.Name+"/"+s.Name)
		}
	}
	if want := "z/@perstack/base z/two z/one a/@perstack/base"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDefaultModel(t *testing.T) {
	for provider, want := range map[string]string{
		"anthropic": "claude-sonnet-4-5", "openai": "gpt-5", "google": "gemini-2.5-pro", "google-vertex": "gemini-2.5-pro",
		"amazon-bedrock": "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "deepseek": "deepseek-chat", "ollama": "gpt-oss:20b",
		"azure-openai": "", "replay": "replay", "unknown": "",
	} {
		if got := model.DefaultModel(provider); got != want {
			t.Errorf("DefaultModel(%q) = %q", provider, got)
		}
	}
}

// An Expert can have a provider of its own, with its settings and a default model.
func TestProviderOfAnExpert(t *testing.T) {
	c, problems := Parse("/p/perstack.toml", []byte(`model = "large"
[experts.a]
instruction = "x"
model = "small"
[experts.b]
instruction = "x"
[experts.b.provider]
providerName = "openai"
[experts.b.provider.setting]
organization = "o"
[experts.c]
instruction = "x"
model = "m"
[experts.c.provider]
providerName = "replay"
setting = { cassette = "c.toml" }
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	a, b, e := c.Experts[0], c.Experts[1], c.Experts[2]
	if a.Model != "small" || a.Provider != nil {
		t.Errorf("a: %q, %+v", a.Model, a.Provider)
	}
	if b.Provider == nil || b.Provider.Name != "openai" || b.Provider.Setting.Organization != "o" || b.Model != model.DefaultModel("openai") {
		t.Errorf("b: %q, %+v", b.Model, b.Provider)
	}
	if e.Model != "m" || e.Provider.Setting.Cassette != filepath.Join(c.Dir, "c.toml") {
		t.Errorf("c: %q, %+v", e.Model, e.Provider)
	}
	_, problems = Parse("p.toml", []byte("[experts.a]\ninstruction = 'x'\n[experts.a.provider]\nproviderName = 'anthropic'\nsetting = { region = 'x' }\n"))
	if err := problems.Err(); err == nil {
		t.Error("a setting of another provider is accepted")
	}
}
