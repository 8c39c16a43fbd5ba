package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// leadOnly is a project with one Expert; what stands before it are settings.
func leadOnly(settings string) map[string]string {
	return toml(settings + "[experts.lead]\ninstruction = 'Lead.'\n")
}

// recordedSpec is what a job has recorded of its settings.
func recordedSpec(s job.Settings) job.Spec { return job.Spec{Expert: "lead", Settings: s} }

// A job keeps its provider and its model, unless a flag or the file says otherwise; then
// the user is told that the conversation goes elsewhere.
func TestResumedModel(t *testing.T) {
	type choice struct{ provider, model string }
	was := choice{"openai", "gpt-5-mini"}
	for name, c := range map[string]struct {
		flags, file, before choice
		want                choice
		told                string
	}{
		"new job":           {want: choice{"anthropic", "claude-sonnet-4-5"}},
		"kept":              {before: was, want: was},
		"same flag":         {flags: choice{provider: "openai"}, before: was, want: was},
		"same file":         {file: choice{provider: "openai"}, before: was, want: was},
		"model by flag":     {flags: choice{model: "gpt-5"}, before: was, want: choice{"openai", "gpt-5"}},
		"model of the file": {file: choice{model: "gpt-4o"}, before: was, want: choice{"openai", "gpt-4o"}},
		"model for another": {file: choice{model: "claude-opus-4-5"}, before: was, want: was},
		"flag":              {flags: choice{provider: "google"}, before: was, want: choice{"google", "gemini-2.5-pro"}, told: "google"},
		"file":              {file: choice{provider: "anthropic"}, before: was, want: choice{"anthropic", "claude-sonnet-4-5"}, told: "anthropic"},
		"flag before file":  {flags: choice{provider: "openai"}, file: choice{provider: "anthropic"}, before: was, want: was},
		"unknown model":     {before: choice{"ollama", "mine:7b"}, want: choice{"ollama", "mine:7b"}},
		"no model":          {before: choice{provider: "openai"}, want: choice{"openai", "gpt-5"}},
	} {
		settings := ""
		if c.file.model != "" {
			settings += "model = '" + c.file.model + "'\n"
		}
		if c.file.provider != "" {
			settings += "[provider]\nproviderName = '" + c.file.provider + "'\n"
		}
		p := proposal{files: leadOnly(settings), opts: &Options{}}
		p.opts.Flags.Provider, p.opts.Flags.Model = c.flags.provider, c.flags.model
		if c.before.provider != "" {
			p.recorded = recordedSpec(job.Settings{Provider: c.before.provider, Model: c.before.model})
		}
		pl, told, err := makePlan(t, p)
		if err != nil {
			t.Fatal(name, err)
		}
		want := ""
		if c.told != "" {
			want = "perstack: the conversation continues with the provider " + c.told + "; before, it used openai\n"
		}
		if got := (choice{pl.spec.Provider, pl.spec.Model}); got != c.want || told != want {
			t.Errorf("%s: %+v, %q", name, got, told)
		}
	}
	// A name that no provider has can be an attack on the terminal, and is not used.
	pl, told, err := makePlan(t, proposal{files: leadOnly(""), recorded: recordedSpec(job.Settings{Provider: "ev\x1bil", Model: "m"})})
	if err != nil || pl.spec.Provider != "anthropic" || pl.spec.Model != "claude-sonnet-4-5" || strings.ContainsRune(told, 0x1b) || told == "" {
		t.Errorf("%v, %+v, %q", err, pl, told)
	}
	o := &Options{}
	o.Flags.Model = "m"
	_, _, err = makePlan(t, proposal{files: leadOnly(""), opts: o, recorded: recordedSpec(job.Settings{Provider: "replay", Model: "replay"})})
	wantUsage(t, err, "--model does not go with the provider replay")
}

// A job that began in a container goes on in one, unless a flag says otherwise, and then
// that is said. The file can only ask for more isolation.
func TestResumedRuntime(t *testing.T) {
	for name, c := range map[string]struct {
		flag, file, before, want string
		told                     bool
	}{
		"new job":                     {want: "local"},
		"flag":                        {flag: "docker", want: "docker"},
		"file":                        {file: "docker", want: "docker"},
		"flag before file":            {flag: "local", file: "docker", want: "local"},
		"as it was":                   {before: "docker", want: "docker"},
		"as it was, local":            {before: "local", want: "local"},
		"the container is taken away": {flag: "local", before: "docker", want: "local", told: true},
		"not by the file":             {file: "local", before: "docker", want: "docker"},
		"a container is added":        {flag: "docker", before: "local", want: "docker"},
		"a stranger's journal":        {before: "ev\x1bil", want: "local"},
	} {
		settings := ""
		if c.file != "" {
			settings = "runtime = '" + c.file + "'\n"
		}
		p := proposal{files: leadOnly(settings), opts: &Options{}}
		p.opts.Flags.Runtime = c.flag
		if c.before != "" {
			p.recorded = recordedSpec(job.Settings{Runtime: c.before})
		}
		pl, told, err := makePlan(t, p)
		if err != nil {
			t.Fatal(name, err)
		}
		if pl.spec.Runtime != c.want || strings.Contains(told, "no container isolates it any more") != c.told || !c.told && told != "" {
			t.Errorf("%s: %s, told %q", name, pl.spec.Runtime, told)
		}
	}
}

// What was chosen for the container stays when a flag is not repeated, and the user is
// told. Flags and file come first; what a stranger's journal names is checked like a flag.
func TestResumedContainer(t *testing.T) {
	type chosen struct {
		readOnly bool
		image    string
		env      []string
	}
	environ := []string{"A=1", "B=2", "PATH=/bin", "PERSTACK_X=1", "ANTHROPIC_API_KEY=k"}
	had := chosen{true, "tools:1", []string{"B", "A", "B"}}
	for name, c := range map[string]struct {
		flags, file string
		had, want   chosen
		told, err   string
	}{
		"nothing":              {},
		"all":                  {had: had, want: chosen{true, "tools:1", []string{"A", "B"}}, told: "the base image tools:1, a read-only workspace, A and B"},
		"one":                  {had: chosen{readOnly: true}, want: chosen{readOnly: true}, told: "a read-only workspace"},
		"flags":                {flags: "--base-image other:1 --read-only-workspace --env A", had: had, want: chosen{true, "other:1", []string{"A"}}},
		"some flags":           {flags: "--env A --env A", had: had, want: chosen{true, "tools:1", []string{"A"}}, told: "the base image tools:1 and a read-only workspace"},
		"file":                 {file: "[docker]\nbaseImage = 'file:1'\nreadOnlyWorkspace = true\n", had: had, want: chosen{true, "file:1", []string{"A", "B"}}, told: "A and B"},
		"writable again":       {flags: "--read-only-workspace=false", had: had, want: chosen{false, "tools:1", []string{"A", "B"}}, told: "the base image tools:1, A and B"},
		"the file does not":    {flags: "--read-only-workspace=false", file: "[docker]\nreadOnlyWorkspace = true\n", had: chosen{readOnly: true}, want: chosen{readOnly: true}},
		"chosen now":           {flags: "--read-only-workspace --env B", want: chosen{readOnly: true, env: []string{"B"}}},
		"no container":         {flags: "--runtime local", had: had},
		"gone meanwhile":       {had: chosen{env: []string{"A", "GONE"}}, err: "not set in the environment, or empty: GONE"},
		"gone, and another":    {flags: "--env A", had: chosen{env: []string{"GONE"}}, want: chosen{env: []string{"A"}}},
		"a search path":        {had: chosen{env: []string{"PATH"}}, err: "--env PATH: the variable is protected"},
		"our own":              {had: chosen{env: []string{"PERSTACK_X"}}, err: "belongs to perstack itself"},
		"the key":              {had: chosen{env: []string{"ANTHROPIC_API_KEY"}}, err: "is the key of provider anthropic"},
		"no name":              {had: chosen{env: []string{"ev\x1bil"}}, err: "is not the name of a variable"},
		"no image":             {had: chosen{image: "--ev\x1bil"}, err: "is not the name of an image"},
		"no image, and a flag": {flags: "--base-image a:1", had: chosen{image: "--evil"}, want: chosen{image: "a:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := recordedSpec(job.Settings{Provider: "anthropic", Runtime: job.Docker, Isolation: job.Isolation{
				Env: c.had.env, Container: job.Container{ReadOnlyWorkspace: c.had.readOnly, BaseImage: c.had.image},
			}})
			pl, told, err := makePlan(t, proposal{files: leadOnly(c.file), opts: flags(t, c.flags), environ: environ, recorded: recorded})
			wantUsage(t, err, c.err)
			if err != nil {
				return
			}
			is := pl.spec.Isolation
			got := chosen{is.Container.ReadOnlyWorkspace, is.Container.BaseImage, is.Env}
			if !cmp.Equal(c.want, got, cmp.AllowUnexported(chosen{})) && pl.spec.Runtime == job.Docker || pl.spec.Runtime != job.Docker && !cmp.Equal(is, job.Isolation{}) {
				t.Errorf("(-want +got)\n%s", cmp.Diff(c.want, got, cmp.AllowUnexported(chosen{})))
			}
			want := ""
			if c.told != "" {
				want = "perstack: the job is resumed with " + c.told + ", as before\n"
			}
			if said := slices.DeleteFunc(strings.SplitAfter(told, "\n"), func(line string) bool { return strings.Contains(line, "the container uses the image") }); pl.spec.Runtime == job.Docker && strings.Join(said, "") != want {
				t.Errorf("told %q, want %q", told, want)
			}
		})
	}
	// A job that was not in a container has none of this, whatever its journal says.
	recorded := recordedSpec(job.Settings{Runtime: job.Local, Isolation: job.Isolation{Env: had.env, Container: job.Container{ReadOnlyWorkspace: true, BaseImage: "tools:1"}}})
	pl, _, err := makePlan(t, proposal{files: leadOnly(""), opts: flags(t, "--runtime docker"), recorded: recorded})
	if err != nil || !cmp.Equal(pl.spec.Isolation, job.Isolation{Container: job.DefaultContainer()}) {
		t.Errorf("%+v, %v", pl, err)
	}
}

// A sandbox that a job had is kept when it is resumed, and one that was shared is split
// again: a flag that was not repeated never lowers the isolation.
func TestResumedSandbox(t *testing.T) {
	local := recordedSpec(job.Settings{Runtime: job.Local, Isolation: job.Isolation{Sandbox: true}})
	docker := recordedSpec(job.Settings{Runtime: job.Docker, Isolation: job.Isolation{SharedSandbox: true}})
	for name, tt := range map[string]struct {
		before          job.Spec
		flags           string
		sandbox, shared bool
		told            string // empty for nothing
	}{
		"nothing":             {recordedSpec(job.Settings{Runtime: job.Local}), "", false, false, ""},
		"first":               {job.Spec{}, "--sandbox", true, false, ""},
		"kept":                {local, "", true, false, "is resumed in the sandbox, as before"},
		"repeated":            {local, "--sandbox", true, false, ""},
		"given up":            {local, "--sandbox=false", false, false, "without the sandbox that it had"},
		"into a container":    {local, "--runtime docker", false, false, ""},
		"shared":              {job.Spec{}, "--runtime docker --shared-sandbox", false, true, "share one sandbox"},
		"not shared any more": {docker, "--runtime docker", false, false, "a sandbox for each skill"},
		"shared again":        {docker, "--runtime docker --shared-sandbox", false, true, "share one sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			pl, told, err := makePlan(t, proposal{files: toml(skilled), opts: flags(t, tt.flags), recorded: tt.before})
			if err != nil {
				t.Fatal(err)
			}
			if is := pl.spec.Isolation; is.Sandbox != tt.sandbox || is.SharedSandbox != tt.shared {
				t.Errorf("%+v", is)
			}
			if (told != "") != (tt.told != "") || !strings.Contains(told, tt.told) {
				t.Errorf("told %q, want %q", told, tt.told)
			}
		})
	}
}

// A resumed job stays in its workspace unless the user names another and says so.
func TestResumedWorkspace(t *testing.T) {
	other := t.TempDir()
	for name, tt := range map[string]struct{ had, flags, want string }{
		"nothing recorded": {"", "", ""},
		"another":          {other, "", "the job worked in " + other},
		"named alone":      {"/elsewhere", "--workspace " + other, "--move-workspace"},
		"moved":            {"/elsewhere", "--workspace " + other + " --move-workspace", ""},
		"the same":         {other, "--workspace " + other, ""},
		"moved by itself":  {other, "--move-workspace", "--workspace"},
	} {
		recorded := recordedSpec(job.Settings{})
		recorded.Workspace.Dir = tt.had
		_, _, err := makePlan(t, proposal{files: leadOnly(""), opts: flags(t, tt.flags), recorded: recorded})
		if t.Run(name, func(t *testing.T) { wantUsage(t, err, tt.want) }); err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A base URL or headers that stand with one provider must not meet the key of another.
func TestSettingBelongsToItsProvider(t *testing.T) {
	file := leadOnly("[provider]\nproviderName = 'openai'\n[provider.setting]\nbaseUrl = 'https://gateway.example'\nheaders = { X-Team = 'a' }\n")
	for provider, want := range map[string]string{"openai": "https://gateway.example", "anthropic": ""} {
		pl, _, err := makePlan(t, proposal{files: file, opts: flags(t, "--provider "+provider)})
		if err != nil {
			t.Fatal(err)
		}
		if got := pl.spec.Setting; got.BaseURL != want || (got.Headers != nil) != (want != "") {
			t.Errorf("--provider %s uses %q and headers %v", provider, got.BaseURL, got.Headers)
		}
	}
}

// A reasoning budget that nothing chose is marked as the default.
func TestReasoningOfTheUser(t *testing.T) {
	for line, want := range map[string]job.Settings{
		"":                        {Reasoning: expert.DefaultReasoningBudget, ReasoningDefault: true},
		"--reasoning-budget high": {Reasoning: "high"},
	} {
		pl, _, err := makePlan(t, proposal{files: leadOnly(""), opts: flags(t, line)})
		if err != nil || pl.spec.Reasoning != want.Reasoning || pl.spec.ReasoningDefault != want.ReasoningDefault {
			t.Errorf("%q: %+v, %v", line, pl, err)
		}
	}
}
