package inspect

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/testkit"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Options
		err  string
	}{
		{args: []string{"a"}, want: Options{Expert: "a"}},
		{args: []string{"a", "--json", "--config", "x.toml", "--env-path", "e"}, want: Options{Expert: "a", JSON: true, Config: "x.toml", EnvPath: []string{"e"}}},
		{args: nil, err: "expected one Expert, got 0 arguments; call it as: perstack inspect <expert>"},
		{args: []string{"a", "b"}, err: "expected one Expert, got 2 arguments; call it as: perstack inspect <expert>"},
		{args: []string{"a", "--config", ""}, err: "--config is given without a value"},
	} {
		var got *Options
		cmd := New(nil, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{}, test.args...)) // nil would stand for those of the test
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || err.Error() != test.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: error = %v, want usage error %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%q: options = %+v, %v, want %+v", test.args, got, err, test.want)
		}
	}
}

// file has one of everything that a card shows.
const file = `
model = "claude-sonnet-4-5"
maxSteps = 7
maxTokens = 1_000_000
maxToolCalls = 40
maxCost = 0.50
maxDuration = "1h30m"
maxDepth = 3
maxWorkspaceBytes = 1000
[prices.claude-sonnet-4-5]
input = 0.000001
output = 15
[provider]
providerName = "anthropic"
[provider.setting]
baseUrl = "https://models.example.com/v1?token=hidden"
headers = { X-Team = "value-of-header" }
[experts.lead]
version = "1.2.0"
description = "Leads"
instruction = "Lead. \u202eNothing hidden."
delegates = ["writer", "@acme/elsewhere"]
[experts.lead.skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
omit = ["exec", "deleteDirectory"]
[experts.lead.skills.ask]
type = "interactiveSkill"
description = "Questions"
[experts.lead.skills.ask.tools.deadline]
description = "When must it be done?"
inputJsonSchema = '{"type":"object"}'
[experts.writer]
instruction = "Write."
delegates = ["lead"]
maxSteps = 5
maxTokens = 2000
maxCost = 0.125
maxDuration = "90s"
[experts.writer.skills.web]
type = "mcpStdioSkill"
command = "npx"
args = ["-y", "@acme/web", "--key", "a b"]
requiredEnv = ["WEB_KEY", "WEB_OTHER"]
omit = ["drop", "typo"]
rule = "Be brief"
startTimeout = 5000
toolPrefix = true
[experts.writer.skills.uv]
type = "mcpStdioSkill"
command = "uvx"
packageName = "some-tool"
allowedDomains = ["*.example.com"]
lazyInit = true
[experts.writer.skills.far]
type = "mcpHttpSkill"
endpoint = "https://far.example.com/mcp?token=hidden"
requiredEnv = ["FAR_KEY"]
headers = { Authorization = "Bearer ${FAR_KEY}" }
[experts.writer.skills.near]
type = "mcpSseSkill"
endpoint = "http://127.0.0.1:9/sse"
allowPrivateEndpoint = true
[experts.unrelated]
instruction = "Not in the closure."
[experts.unrelated.skills.x]
type = "mcpStdioSkill"
command = "unrelated-command"
`

type project struct {
	t   *testing.T
	dir string
}

func newProject(t *testing.T, text string) *project {
	p := &project{t, t.TempDir()}
	p.write("perstack.toml", text)
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// lock writes the lockfile that installing would, with two tools for web and one with a
// hidden text for far.
func (p *project) lock() {
	p.t.Helper()
	c, problems, err := manifest.Load(filepath.Join(p.dir, "perstack.toml"))
	if err != nil || problems.Err() != nil {
		p.t.Fatal(err, problems)
	}
	tools := map[string][]string{
		"web": {
			`{"name":"search","title":"Search","description":"Search the web\nfor words","inputSchema":{"type":"object"}}`,
			`{"name":"drop","inputSchema":{}}`,
		},
		"far": {`{"name":"say","inputSchema":{"properties":{"a":{"description":"it \u200bhides\u001b[2J"}}}}`},
	}
	l := &lockfile.Lock{ConfigPath: "perstack.toml", GeneratedAt: 1_767_000_000_000}
	for _, e := range c.Experts {
		locked := &lockfile.Expert{Key: e.Key, Name: e.Name, Version: e.Version, Instruction: e.Instruction, Definition: e.Digest(), Delegates: e.Delegates}
		for _, s := range e.Servers() {
			entry := &lockfile.Skill{Name: s.Name, Digest: s.Connection()}
			switch want, ok := s.Package(); {
			case ok && want.Manager == "npx":
				entry.Package = &lockfile.Package{Manager: "npx", Name: want.Name, Version: "1.2.3", Integrity: "sha512-abc", Tree: "{}"}
			case ok:
				entry.Package = &lockfile.Package{Manager: want.Manager, Name: want.Name}
			}
			for _, definition := range tools[s.Name] {
				tool, err := lockfile.ParseTool([]byte(definition))
				if err != nil {
					p.t.Fatal(err)
				}
				entry.Tools = append(entry.Tools, tool)
			}
			locked.Skills = append(locked.Skills, entry)
		}
		l.Experts = append(l.Experts, locked)
	}
	if err := l.Write(filepath.Join(p.dir, "perstack.lock")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) inspect(change ...func(*Options)) (stdout, stderr string, err error) {
	p.t.Helper()
	var out, errOut bytes.Buffer
	opts := &Options{Host: &host.Host{
		Dir: p.dir, Home: p.dir, Stdout: &out, Stderr: &errOut,
		Environ: []string{"WEB_KEY=value-of-variable", "FAR_KEY=value-of-variable", "ANTHROPIC_API_KEY=value-of-key"},
	}, Expert: "lead"}
	for _, f := range change {
		f(opts)
	}
	err = run(p.t.Context(), opts)
	short := func(b bytes.Buffer) string {
		return strings.ReplaceAll(b.String(), p.dir+string(filepath.Separator), "")
	}
	return short(out), short(errOut), err
}

func asJSON(o *Options) { o.JSON = true }

func (p *project) card() Card {
	p.t.Helper()
	out, _, err := p.inspect(asJSON)
	if err != nil {
		p.t.Fatal(err)
	}
	var card Card
	if err := json.Unmarshal([]byte(out), &card, json.RejectUnknownMembers(true)); err != nil {
		p.t.Fatal(err)
	}
	return card
}

// The whole card, with a lockfile and without, for people and for programs.
func TestCard(t *testing.T) {
	p := newProject(t, file)
	for _, name := range []string{"unlocked", "locked"} {
		for form, change := range map[string]func(*Options){".txt": func(*Options) {}, ".json": asJSON} {
			got, _, err := p.inspect(change)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, name+form, got)
			for _, secret := range []string{"value-of-variable", "value-of-header", "value-of-key", "token=hidden"} {
				if strings.Contains(got, secret) {
					t.Errorf("%s%s shows %q", name, form, secret)
				}
			}
			if strings.ContainsAny(got, "\x1b\u200b\u202e") {
				t.Errorf("%s%s holds what acts or hides: %q", name, form, got)
			}
			if strings.Contains(got, "unrelated-command") {
				t.Errorf("%s%s shows an Expert that cannot be reached", name, form)
			}
		}
		p.lock()
	}
}

// The state of the lockfile, and what it means for the tools.
func TestLockStates(t *testing.T) {
	p := newProject(t, file)
	state := func() (string, bool) {
		card := p.card()
		return card.Lock.State, card.Experts[1].Skills[1].ToolsKnown
	}
	expect := func(want string, known bool) {
		t.Helper()
		if got, k := state(); got != want || k != known {
			t.Errorf("lockfile %s, tools known %t; want %s, %t", got, k, want, known)
		}
	}
	expect(lockMissing, false)
	p.lock()
	expect(lockFresh, true)
	p.write("perstack.toml", strings.Replace(file, "--key", "--keys", 1))
	expect(lockStale, false) // what is known is about another command
	p.write("perstack.toml", strings.Replace(file, "unrelated-command", "other-command", 1))
	expect(lockFresh, true)
	p.write("perstack.toml", file)
	p.write("perstack.lock", "version = '3'")
	expect(lockBroken, false)
	if card := p.card(); len(card.Lock.Problems) != 1 || !strings.HasSuffix(card.Lock.Problems[0], "; update perstack") || card.Findings[1].Hint != "update perstack" {
		t.Errorf("problems = %q, findings %v", card.Lock.Problems, card.Findings)
	}
	p.write("perstack.lock", "version = 3")
	expect(lockBroken, false)
	if card := p.card(); len(card.Lock.Problems) != 1 || !strings.Contains(card.Lock.Problems[0], "run: perstack install") {
		t.Errorf("problems = %q", card.Lock.Problems)
	}
}

// A file of another name has a lockfile of its own, and advice names the file.
func TestOtherConfig(t *testing.T) {
	p := newProject(t, file)
	p.lock() // of perstack.toml
	p.write("b.toml", file)
	other := func(o *Options) { o.Config = "b.toml" }
	out, _, err := p.inspect(other)
	if err != nil || !strings.Contains(out, "lockfile   none") || !strings.Contains(out, "; run: perstack install --config b.toml\n") || strings.Contains(out, "perstack install\n    ") {
		t.Errorf("%v\n%s", err, out)
	}
	lock, err := os.ReadFile(filepath.Join(p.dir, "perstack.lock"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("b.lock", string(lock))
	out, _, err = p.inspect(other)
	if err != nil || !strings.Contains(out, `was made from "perstack.toml", not from "b.toml"`) || !strings.Contains(out, "no run will start; run: perstack install --config b.toml\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Two skills with one name for a tool keep the Expert from starting, and a slip in pick or
// omit is named with what was meant.
func TestFindingsAboutTools(t *testing.T) {
	p := newProject(t, strings.Replace(file, "toolPrefix = true\n", "", 1)+"[experts.writer.skills.ask]\ntype='interactiveSkill'\ntools.search={inputJsonSchema='{}'}\n")
	p.lock()
	var got []string
	for _, f := range p.card().Findings {
		got = append(got, f.Severity+" "+f.Expert+" "+f.Message+" "+f.Hint)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`warning writer it will not start: skills "web" and "ask" both offer a tool named "search"; give the question another name`,
		`warning writer omit names the tool "typo", which the skill does not have`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nis not in\n%s", want, all)
		}
	}
}

// Each finding appears for its reason and not without it.
func TestFindings(t *testing.T) {
	const head = "[experts.lead]\ninstruction = 'x'\n"
	const stdio = head + "[experts.lead.skills.s]\ntype = 'mcpStdioSkill'\n"
	for name, test := range map[string]struct{ file, want string }{
		"none":             {head, ""},
		"plain server":     {stdio + "command = 'x'", "note: its tools are unknown until they are installed; run: perstack install\n"},
		"not pinned":       {stdio + "command = 'npx'\npackageName = 'a'", "warning: the package a is not pinned: each run may start another version; its tools are unknown; run: perstack install\n"},
		"version":          {stdio + "command = 'npx'\npackageName = 'a@1.0.0'", "warning: the package a@1.0.0 is pinned by its version alone: what it holds and needs is not compared with anything; its tools are unknown; run: perstack install\n"},
		"uvx version":      {stdio + "command = 'uvx'\npackageName = 'a@1.0.0'", "note: its tools are unknown until they are installed; run: perstack install\n"},
		"provider key":     {stdio + "command = 'x'\nrequiredEnv = ['OPENAI_API_KEY', 'OTHER_KEY']\nallowedDomains = ['a.com']", "warning: gets OPENAI_API_KEY, which is the key of a provider; give it a key of its own under another name\n"},
		"shell":            {stdio + "command = '/bin/sh'\nargs = ['-c', 'npx a']", "warning: is started by /bin/sh, which can fetch and run anything, and none of it is pinned; use command = \"npx\" with a package\n"},
		"container":        {stdio + "command = 'docker'\nargs = ['run', 'a']", "warning: is started by docker, "},
		"windows":          {stdio + "command = 'Npm.CMD'\nargs = ['exec', 'a']", "warning: is started by Npm.CMD, "},
		"uvx":              {stdio + "command = 'uvx'\npackageName = 'a'", "name a version in perstack.toml"},
		"wildcard":         {stdio + "command = 'x'\nallowedDomains = ['*.a.com']", "warning: can reach every host that matches *.a.com"},
		"secret anywhere":  {"[sandbox]\nmode = 'off'\n" + stdio + "command = 'x'\nrequiredEnv = ['A_KEY', 'B_KEY']", "warning: gets A_KEY, B_KEY and can reach any host"},
		"secret somewhere": {stdio + "command = 'x'\nrequiredEnv = ['A_KEY']\nallowedDomains = ['a.com']", "note: its tools are unknown"},
		"private":          {head + "[experts.lead.skills.s]\ntype = 'mcpHttpSkill'\nendpoint = 'http://127.0.0.1:1/'\nallowPrivateEndpoint = true", "warning: can be at a private address"},
		"hidden rule":      {stdio + "command = 'x'\nrule = \"a\\u200bb\"", "warning: the rule contains invisible characters: a<U+200B>b"},
		"hidden question":  {head + "[experts.lead.skills.s]\ntype = 'interactiveSkill'\ntools.q = {inputJsonSchema='{\"title\":\"a\\ue0001b\\u200d\"}'}", "warning: the question q contains invisible characters"},
		"delegate":         {head + "delegates = ['gone']", "warning: experts.lead.delegates.0: delegate \"gone\" is not in this file; define it, or write \"gone@latest\" for a published Expert\n"},
		"delegates":        {head + "delegates = ['b']\n[experts.b]\ninstruction = 'x'\ndelegates = ['lead']", ""},
		"price":            {"[prices.claude-sonnet-4-5]\ninput = 0\noutput = 0.1\n" + head, "note: limits on cost count with the prices of the file: 0 and 0.1 US dollars for a million tokens in and out of claude-sonnet-4-5; \n"},
		"price of another": {"[prices.other]\ninput = 0\noutput = 0.1\n" + head, ""},
		"base url":         {"[provider]\nproviderName = 'anthropic'\nsetting = {baseUrl = 'https://a.com'}\n" + head, "warning: what the Experts see and the key go to https://a.com"},
		"resource":         {"[provider]\nproviderName = 'azure-openai'\nsetting = {resourceName = 'theirs'}\n" + head, "warning: what the Experts see and the key go to theirs.openai.azure.com, as the file says"},
		"project":          {"[provider]\nproviderName = 'google-vertex'\nsetting = {project = 'theirs'}\n" + head, "warning: what the Experts see goes to the Google Cloud project theirs, as the file says"},
		"billed project":   {"[provider]\nproviderName = 'openai'\nsetting = {project = 'p'}\n" + head, ""},
		"extra body":       {"[provider]\nproviderName = 'openai'\nsetting = {extraBody = {b = 1, a = 'secret'}}\n" + head, "note: the file adds to every request: a, b; \n"},
		"another family":   {"model = 'gpt-5'\n" + head, "warning: no run will start: anthropic: the model \"gpt-5\" is not one of this provider"},
		"no deployment":    {"[provider]\nproviderName = 'azure-openai'\n" + head, "warning: no run will start: azure-openai: no deployment is named"},
		"mixed tools":      {"[provider]\nproviderName = 'google'\n" + head + "providerTools = ['googleSearch']", "warning: no run will start: google: gemini-2.5-pro cannot use googleSearch together with the tools of the Expert"},
		"foreign skill":    {head + "providerSkills = [{type = 'custom', name = 'x', definition = 'y'}]", "warning: no run will start: anthropic: provider skill \"x\" is custom"},
		"builtin skill":    {head + "providerSkills = [{type = 'builtin', skillId = 'pdf'}]", ""},
		"reserved members": {"[provider]\nproviderName = 'openai'\nsetting = {extraBody = {input = 1, model = 'm'}}\n" + head, "cannot set \"input\", which perstack writes itself; remove it; \nwarning: no run will start: openai: extraBody cannot set \"model\""},
		"foreign tool":     {"[provider]\nproviderName = 'openai'\n" + head + "providerTools = ['webFetch']", "warning: experts.lead.providerTools.0: provider \"openai\" has no tool \"webFetch\"; it has webSearch, fileSearch, codeInterpreter and imageGeneration\n"},
	} {
		t.Run(name, func(t *testing.T) {
			card := newProject(t, test.file).card()
			var all strings.Builder
			for _, f := range card.Findings {
				all.WriteString(f.Severity + ": " + f.Message + "; " + f.Hint + "\n")
			}
			if got := all.String(); (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("findings:\n%swant %q", got, test.want)
			}
			if name == "not pinned" && len(card.Findings) != 1 {
				t.Errorf("one cure, %d findings:\n%s", len(card.Findings), all.String())
			}
			if name == "plain server" && strings.Contains(all.String(), "started by") {
				t.Errorf("findings:\n%s", all.String())
			}
			if name == "secret somewhere" && strings.Contains(all.String(), "any host") {
				t.Errorf("findings:\n%s", all.String())
			}
		})
	}
}

// What the provider runs for an Expert is on the card.
func TestProviderSkills(t *testing.T) {
	card := newProject(t, "[experts.lead]\ninstruction = 'x'\nproviderTools = ['webSearch']\nproviderSkills = [{type = 'builtin', skillId = 'pdf'}, {type = 'custom', name = 'mine', definition = 'y'}]").card()
	if want := []ProviderSkill{{"builtin", "pdf"}, {"custom", "mine"}}; !reflect.DeepEqual(card.Experts[0].ProviderSkills, want) {
		t.Errorf("%+v", card.Experts[0].ProviderSkills)
	}
	if want := "runs for it: webSearch, the builtin skill pdf, the custom skill mine\n"; !strings.Contains(card.text(), want) {
		t.Errorf("%s", card.text())
	}
}

// The price of a model that was looked up later has its own date.
func TestListPriceDate(t *testing.T) {
	card := newProject(t, "model = 'claude-opus-5'\n[experts.lead]\ninstruction = 'x'").card()
	if card.ListPrice == nil || card.ListPrice.Date != "2026-11-15" {
		t.Errorf("%+v", card.ListPrice)
	}
}

// A card needs neither a key nor the variables, and wrong calls are told apart from
// broken files.
func TestErrors(t *testing.T) {
	p := newProject(t, file)
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"unknown":  {func(o *Options) { o.Expert = "nobody" }, `expert "nobody" not found in `},
		"no key":   {func(o *Options) { o.Expert = "No Key" }, ""},
		"no file":  {func(o *Options) { o.Config = "none.toml" }, "not found"},
		"remote":   {func(o *Options) { o.Config = "http://a.com/perstack.toml" }, "a remote configuration needs https"},
		"bad file": {func(o *Options) { p.write("bad.toml", "x = 1"); o.Config = "bad.toml" }, "unknown key"},
	} {
		out, _, err := p.inspect(test.change)
		if err == nil || host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), test.want) || out != "" {
			t.Errorf("%s: error = %v, stdout %q", name, err, out)
		}
	}
	out, stderr, err := p.inspect(func(o *Options) { o.EnvPath = []string{"none.env"}; o.Host.Environ = nil })
	if err != nil || !strings.Contains(stderr, "none.env") || !strings.Contains(out, "WEB_KEY (not set here)") {
		t.Errorf("without env file: %v\n%s%s", err, stderr, out)
	}
}

// The card says where each variable is set. The name of a file cannot pass for the environment.
func TestSources(t *testing.T) {
	for name, tt := range map[string]struct {
		top, env, text string
		environ        []string
		want           Variable
		line           string
	}{
		"nowhere":         {want: Variable{Name: "ANTHROPIC_API_KEY"}, line: "not set here"},
		"the environment": {environ: []string{"ANTHROPIC_API_KEY=own"}, want: Variable{Name: "ANTHROPIC_API_KEY", Set: true}, line: "set in the environment"},
		"a file":          {env: ".env", text: "ANTHROPIC_API_KEY=k", want: Variable{Name: "ANTHROPIC_API_KEY", Set: true, File: ".env"}, line: "set in the file .env"},
		"both":            {env: ".env", text: "ANTHROPIC_API_KEY=k", environ: []string{"ANTHROPIC_API_KEY=own"}, want: Variable{Name: "ANTHROPIC_API_KEY", Set: true}, line: "set in the environment"},
		"an empty value":  {env: ".env", text: "ANTHROPIC_API_KEY=", want: Variable{Name: "ANTHROPIC_API_KEY"}, line: "not set here"},
		"a strange name": {
			top: "envPath = ['the environment']\n", env: "the environment", text: "ANTHROPIC_API_KEY=k",
			want: Variable{Name: "ANTHROPIC_API_KEY", Set: true, File: "the environment"}, line: "set in the file 'the environment'",
		},
	} {
		p := newProject(t, tt.top+"[experts.lead]\ninstruction = 'x'\n")
		if tt.env != "" {
			p.write(tt.env, tt.text)
		}
		environ := func(o *Options) { o.Host.Environ = tt.environ }
		out, _, err := p.inspect(environ)
		if err != nil || !strings.Contains(out, "key from ANTHROPIC_API_KEY ("+tt.line+")\n") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		var card Card
		out, _, err = p.inspect(environ, asJSON)
		if err := cmp.Or(err, json.Unmarshal([]byte(out), &card)); err != nil || !reflect.DeepEqual(card.Provider.Keys, []Variable{tt.want}) {
			t.Errorf("%s: %v, %+v", name, err, card.Provider)
		}
	}
}

// A key that somebody wrote into a command line is not repeated.
func TestSecretInCommand(t *testing.T) {
	const key = "sk-9fK2mQ7xVb4Lw8Zt3Rp6Yc1Hd5Ng0Js"
	p := newProject(t, "[experts.lead]\ninstruction = 'x'\n[experts.lead.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nargs = ['"+key+"']\n")
	p.write(".env", "SOME_KEY="+key)
	for _, change := range []func(*Options){func(*Options) {}, asJSON} {
		if out, _, err := p.inspect(change); err != nil || strings.Contains(out, key) || !strings.Contains(out, "[redacted: SOME_KEY]") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// A key that somebody wrote into a header, or into an address, is not repeated either.
func TestSecretInHeader(t *testing.T) {
	const key = "sk-9fK2mQ7xVb4Lw8Zt3Rp6Yc1Hd5Ng0Js"
	p := newProject(t, "[experts.lead]\ninstruction = 'x'\n[experts.lead.skills.far]\ntype = 'mcpHttpSkill'\nendpoint = 'https://far.example/u/short-key/mcp'\n"+
		"headers = { X-Key = 'Bearer "+key+"' }\n[experts.lead.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nargs = ['"+key+"']\n")
	for _, change := range []func(*Options){func(*Options) {}, asJSON} {
		out, _, err := p.inspect(change)
		if err != nil || strings.Contains(out, key) || strings.Contains(out, "short-key") || !strings.Contains(out, "[redacted: X-Key]") || !strings.Contains(out, "https://far.example/…") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestCompletion(t *testing.T) {
	p := newProject(t, file)
	cmd := New(&host.Host{Dir: p.dir}, nil)
	for given, want := range map[string]int{"": 3, "lead": 0} {
		var args []string
		if given != "" {
			args = []string{given}
		}
		if got, _ := cmd.ValidArgsFunction(cmd, args, ""); len(got) != want {
			t.Errorf("after %q: %q", given, got)
		}
	}
}

// A limit on cost is only as good as the price that it counts with: the card says which, or
// that there is none.
func TestListPrice(t *testing.T) {
	const job, run, free = "maxCost = 0.5\n", "maxCost = 0.25\n", ""
	const known, unknown, own = "model = 'claude-sonnet-4-5'\n", "model = 'nobody-knows-it'\n", "[prices.claude-sonnet-4-5]\ninput = 1\noutput = 2\n"
	const shown, missing = "  price      3 and 15 US dollars for a million tokens in and out, the list price of ", "maxCost needs the price of the model \"nobody-knows-it\", which is not known: no run will start"
	for name, tt := range map[string]struct{ top, expert, want, not string }{
		"job":      {known + job, free, shown, missing},
		"expert":   {known, run, shown, missing},
		"no limit": {known, free, "", "US dollars"},
		"own":      {known + job + own, free, "the prices of the file: 1 and 2", "list price"},
		"unknown":  {unknown + job, free, missing, "list price"},
		"nothing":  {unknown, free, "", missing},
	} {
		p := newProject(t, tt.top+"[experts.lead]\ninstruction = 'x'\ndelegates = ['helper']\n[experts.helper]\ndescription = 'd'\ninstruction = 'x'\n"+tt.expert)
		out, _, err := p.inspect()
		if err != nil || !strings.Contains(out, tt.want) || strings.Contains(out, tt.not) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// If every Expert names a model of its own, the card says nothing about that of the job.
func TestOwnModels(t *testing.T) {
	const top = "model = 'nobody-knows-it'\nmaxCost = 1\n[provider]\nproviderName = 'azure-openai'\nsetting = {resourceName = 'theirs'}\n"
	const lead = "[experts.lead]\ninstruction = 'x'\ndelegates = ['helper']\nprovider = {providerName = 'anthropic'}\n"
	const helper = "[experts.helper]\ndescription = 'd'\ninstruction = 'x'\n"
	own := newProject(t, top+lead+helper+"provider = {providerName = 'openai-compatible'}\nmodel = 'mine'\n[prices.mine]\ninput = 1\noutput = 2\n")
	out, _, err := own.inspect()
	for _, not := range []string{"nobody-knows-it", "azure-openai", "theirs", "no run will start"} {
		if err != nil || strings.Contains(out, not) {
			t.Errorf("%v, %q in\n%s", err, not, out)
		}
	}
	for _, want := range []string{
		"provider   openai-compatible, model mine, key from OPENAI_COMPATIBLE_API_KEY (not set here), optional\n",
		"note: limits on cost count with the prices of the file: 1 and 2 US dollars for a million tokens in and out of mine",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if card := own.card(); card.Provider != nil || card.ListPrice != nil || !card.Experts[1].Provider.KeyOptional {
		t.Errorf("%+v", card)
	}
	shared, _, err := newProject(t, top+lead+helper).inspect()
	for _, want := range []string{"provider   azure-openai", "nobody-knows-it", "no run will start"} {
		if err != nil || !strings.Contains(shared, want) {
			t.Errorf("%v, no %q in\n%s", err, want, shared)
		}
	}
}

// The card shows what a file sets, and of what may be secret the names alone.
func TestProviderSettingsOnTheCard(t *testing.T) {
	card := newProject(t, `
[provider]
providerName = "amazon-bedrock"
[provider.setting]
region = "eu-central-1"
allowPrivateEndpoint = true
[provider.setting.guardrail]
identifier = "gr-1"
version = "1"
[provider.setting.extraBody]
performanceConfig = { latency = "optimized" }
[models.mine]
contextWindow = 1000
pdf = false
[experts.lead]
instruction = "x"
`).card()
	p := card.Provider
	if p.Region != "eu-central-1" || p.Guardrail != "gr-1" || !p.MayBePrivate || len(p.ExtraBody) != 1 || p.ExtraBody[0] != "performanceConfig" {
		t.Errorf("%+v", p)
	}
	if len(card.Models) != 1 || card.Models[0].Model != "mine" || card.Models[0].ContextWindow != 1000 || *card.Models[0].PDF || card.Models[0].Images != nil {
		t.Errorf("%+v", card.Models)
	}
	line := p.line()
	for _, want := range []string{"amazon-bedrock, model global.anthropic.claude-sonnet-4-5-20250929-v1:0, region eu-central-1, guardrail gr-1, adding performanceConfig, key from AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q has no %q", line, want)
		}
	}
	if strings.Contains(card.text(), "optimized") {
		t.Error("the card shows values of extraBody")
	}
}
