package consent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
)

// list parses a perstack.toml and lists its requests.
func list(t *testing.T, text string, flags job.Flags, recorded job.Settings) []consent.Request {
	t.Helper()
	c, problems := manifest.Parse("perstack.toml", []byte(text))
	if c == nil {
		t.Fatal(problems)
	}
	return consent.List(consent.Project{Config: c, Experts: c.Experts, Resolved: job.Resolve(flags, c.Settings, recorded, providers.Catalogue{})})
}

func lines(list []consent.Request) (all []string) {
	for _, r := range list {
		all = append(all, fmt.Sprintf("%s %d: %s", r.Kind, r.Line, r.Text))
	}
	return all
}

const skilled = "[experts.a]\ninstruction = 'x'\n[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'tool'\n"

// Each kind of request, and what is near it and asks for nothing.
func TestList(t *testing.T) {
	docker := job.Flags{Settings: job.Settings{Runtime: job.Docker}}
	for name, c := range map[string]struct {
		text  string
		flags job.Flags
		want  []string
	}{
		"nothing":                   {text: "model = 'm'\nmaxCost = 1000\nmaxTokens = 1000000000\n[docker]\nmemory = '4TiB'\n" + skilled},
		"defaults":                  {text: "maxSteps = 100\nmaxRetries = 0\ntimeout = 300000\nmaxDepth = 1\n" + skilled},
		"limits":                    {text: "maxDepth = 9\nmaxParallel = 17\nmaxRetries = 6\ntimeout = 300001\n" + skilled, want: []string{"limits 1: maxDepth is 9, instead of 8", "limits 2: maxParallel is 17, instead of 16", "limits 3: maxRetries is 6, instead of 5", "limits 4: timeout is 300001 ms, instead of 300000 ms"}},
		"a limit of the user":       {text: "maxSteps = 101\n" + skilled, flags: job.Flags{Settings: job.Settings{Limits: job.Limits{MaxDepth: 1000}}}, want: []string{"limits 1: maxSteps is 101, instead of 100"}},
		"a slow provider":           {text: "timeout = 1800000\n[provider]\nproviderName = 'ollama'\n" + skilled},
		"slower than that":          {text: "timeout = 1800001\n[provider]\nproviderName = 'ollama'\n" + skilled, want: []string{"limits 1: timeout is 1800001 ms, instead of 1800000 ms"}},
		"a limit of an Expert":      {text: "[experts.a]\ninstruction = 'x'\nmaxSteps = 1000\n"},
		"variables":                 {text: skilled + "requiredEnv = ['B', 'A']", want: []string{`variables 6: skill "s" (tool) gets your B and A`}},
		"one skill of two":          {text: skilled + "requiredEnv = ['A']\n" + strings.ReplaceAll(skilled, "experts.a", "experts.b") + "requiredEnv = ['A']", want: []string{`variables 6: skill "s" (tool) gets your A`}},
		"a package":                 {text: strings.ReplaceAll(skilled, "'tool'", "'npx'\nargs = ['-y', '@x/y@1.0.0', '--all']") + "requiredEnv = ['A']", want: []string{`variables 7: skill "s" (npx @x/y@1.0.0 --all) gets your A`}},
		"a header":                  {text: "[experts.a]\ninstruction = 'x'\n[experts.a.skills.s]\ntype = 'mcpHttpSkill'\nendpoint = 'https://far.example/key'\nrequiredEnv = ['A']\nheaders = { X = '${A}' }", want: []string{`variables 6: skill "s" (https://far.example) gets your A`}},
		"a private endpoint":        {text: "[experts.a]\ninstruction = 'x'\n[experts.a.skills.s]\ntype = 'mcpHttpSkill'\nendpoint = 'https://10.0.0.1/'\nallowPrivateEndpoint = true", want: []string{`network 6: skill "s" (https://10.0.0.1) can be in your private network`}},
		"the provider's own":        {text: "[provider]\nproviderName = 'openai'\nsetting = { baseUrl = 'https://api.openai.com/v1' }\n" + skilled},
		"a base URL":                {text: "[provider]\nproviderName = 'openai'\nsetting = { baseUrl = 'https://evil.example/v1?k=v' }\n" + skilled, want: []string{"baseUrl 3: what the Expert sees and your key for openai go to https://evil.example/v1?…"}},
		"of another provider":       {text: "[provider]\nproviderName = 'openai'\nsetting = { baseUrl = 'https://evil.example' }\n" + skilled, flags: job.Flags{Settings: job.Settings{Provider: "anthropic"}}},
		"of an Expert":              {text: "[experts.a]\ninstruction = 'x'\n[experts.a.provider]\nproviderName = 'ollama'\nsetting = { baseUrl = 'https://evil.example' }", want: []string{"baseUrl 5: what the Expert sees goes to https://evil.example"}},
		"a container by its flag":   {text: "[docker]\nmemory = '4TiB'\ncpus = 3.5\n" + skilled, flags: docker, want: []string{"limits 2: memory of the container is 4TiB, instead of 2GiB", "limits 3: cpus of the container is 3.5, instead of 2"}},
		"a container of the file":   {text: "runtime = 'docker'\n[docker]\nnodeImage = 'n:1'\n" + skilled, want: []string{"images 3: skills that are npm packages use the image n:1"}},
		"an image of the user":      {text: "runtime = 'docker'\n[docker]\nbaseImage = 'n:1'\n" + skilled, flags: job.Flags{Settings: job.Settings{Isolation: job.Isolation{Container: job.Container{BaseImage: "mine:1"}}}}},
		"a smaller container":       {text: "[docker]\nmemory = '1GiB'\npids = 64\nreadOnlyWorkspace = true\noffline = true\n" + skilled, flags: docker},
		"a Python image":            {text: "[docker]\npythonImage = 'p:1'\n" + skilled, flags: docker, want: []string{"images 2: skills that are uv packages use the image p:1"}},
		"the usual image":           {text: "[docker]\nnodeImage = 'node:24-bookworm-slim'\n" + skilled, flags: docker},
		"a base skill of its own":   {text: "[experts.a]\ninstruction = 'x'\n[experts.a.skills.'@perstack/base']\ntype = 'mcpStdioSkill'\ncommand = 'mine'\nrequiredEnv = ['A']", want: []string{`variables 6: skill "@perstack/base" (mine) gets your A`}},
		"a command line that hides": {text: strings.Replace(skilled, "'tool'", "'tool'\nargs = ['"+strings.Repeat("x", 500)+"']", 1) + "requiredEnv = ['A']", want: []string{`variables 7: skill "s" (tool ` + strings.Repeat("x", 112) + `…) gets your A`}},
	} {
		if diff := cmp.Diff(c.want, lines(list(t, c.text, c.flags, job.Settings{}))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// A resumed job keeps the stricter limit, so a file that raises it asks for nothing.
func TestListOfResumedJob(t *testing.T) {
	const raised = "maxSteps = 5000\n" + skilled
	recorded := job.Settings{Limits: job.Limits{}}
	recorded.Limits.MaxSteps = 50
	if got := list(t, raised, job.Flags{}, recorded); len(got) > 0 {
		t.Errorf("%q", lines(got))
	}
	recorded.Limits.MaxSteps = 5000
	if got := list(t, raised, job.Flags{}, recorded); len(got) != 1 {
		t.Errorf("%q", lines(got))
	}
}

// The digest of a request changes with what is asked for, and with nothing else.
func TestDigest(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		all := list(t, text, job.Flags{}, job.Settings{})
		if len(all) != 1 {
			t.Fatalf("%q", lines(all))
		}
		return all[0].Digest()
	}
	before := digest(skilled + "requiredEnv = ['A', 'B']")
	for name, same := range map[string]string{
		"moved":       "# a comment\n\n" + skilled + "requiredEnv = ['A', 'B']",
		"reordered":   skilled + "requiredEnv = ['B', 'A']",
		"renamed":     strings.ReplaceAll(skilled, "experts.a", "experts.b") + "requiredEnv = ['A', 'B']",
		"instruction": strings.Replace(skilled, "'x'", "'y'", 1) + "pick = ['t']\nrequiredEnv = ['A', 'B']",
	} {
		if digest(same) != before {
			t.Errorf("%s: asked again", name)
		}
	}
	for name, other := range map[string]string{
		"one more":        skilled + "requiredEnv = ['A', 'B', 'C']",
		"another program": strings.Replace(skilled, "'tool'", "'tool2'", 1) + "requiredEnv = ['A', 'B']",
		"other arguments": skilled + "args = ['-x']\nrequiredEnv = ['A', 'B']",
	} {
		if digest(other) == before {
			t.Errorf("%s: not asked again", name)
		}
	}
	url := func(address string) string {
		return digest("[provider]\nproviderName = 'openai'\nsetting = { baseUrl = '" + address + "' }\n" + skilled)
	}
	if url("https://evil.example/a") == url("https://evil.example/b") {
		t.Error("another path of a shared host is the same request")
	}
}

// An address of an env file does not get the key of the user, one of perstack.toml does. So an
// answer about the first is none about the second.
func TestKeyIsPartOfTheAddress(t *testing.T) {
	const address = "https://evil.example"
	file := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(file, []byte("OPENAI_BASE_URL="+address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	values, err := env.Load(nil, []env.File{{Path: file}})
	if err != nil {
		t.Fatal(err)
	}
	c, problems := manifest.Parse("perstack.toml", []byte("[provider]\nproviderName = 'openai'\n[experts.a]\ninstruction = 'x'"))
	if c == nil {
		t.Fatal(problems)
	}
	without := consent.List(consent.Project{Config: c, Experts: c.Experts, Env: values, Resolved: job.Resolve(job.Flags{}, c.Settings, job.Settings{}, providers.Catalogue{})})
	with := list(t, "[provider]\nproviderName = 'openai'\nsetting = { baseUrl = '"+address+"' }\n[experts.a]\ninstruction = 'x'", job.Flags{}, job.Settings{})
	if len(with) != 1 || len(without) != 1 || with[0].Digest() == without[0].Digest() {
		t.Errorf("%q and %q", lines(with), lines(without))
	}
}

// Links are resolved before a path counts as inside.
func TestOutside(t *testing.T) {
	root := consent.Resolve(t.TempDir())
	in := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	for _, dir := range []string{in("project", "sub"), in("project2"), in("other")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{in("project", "up"): "../other", in("project", "link.env"): "../other/a.env", in("project", "here.env"): "sub/b.env", in("alias"): "project"} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for _, file := range []string{in("other", "a.env"), in("project", "sub", "b.env"), in("project2", "a.env")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		in("project", ".env"):                   "",
		in("project", "sub", "b.env"):           "",
		in("project", "here.env"):               "",
		in("alias", ".env"):                     "",
		in("project", "..env"):                  "",
		in("project2", "a.env"):                 in("project2", "a.env"),
		in("project", "link.env"):               in("other", "a.env") + " by a link",
		in("project", "up", "a.env"):            in("other", "a.env") + " by a link",
		in("project", "up", "none.env"):         in("other", "none.env") + " by a link",
		in("none", "a.env"):                     in("none", "a.env"),
		in("project", "sub", "..", "..", "env"): in("env"),
	} {
		got := ""
		for _, f := range consent.Outside([]env.File{{Path: path}}, in("project")) {
			if got = f.Real; f.Link {
				got += " by a link"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := consent.Outside([]env.File{{Path: in("project", ".env")}, {Path: in("other", "a.env")}}, in("alias"), in("other")); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// What was allowed is allowed again, together or in part. Two answers do not add up.
func TestAnswers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	a := consent.Answers{Dir: dir}
	one := list(t, "maxSteps = 101\nmaxDepth = 9\n"+skilled, job.Flags{}, job.Settings{})
	two := list(t, skilled+"requiredEnv = ['A']", job.Flags{}, job.Settings{})
	both := slices.Concat(one, two)
	if a.Allow(one) {
		t.Error("allowed without an answer")
	}
	for _, l := range [][]consent.Request{one, two} {
		if err := a.Remember(l); err != nil {
			t.Fatal(err)
		}
	}
	if !a.Allow(one) || !a.Allow(one[:1]) || !a.Allow(two) || a.Allow(both) {
		t.Error("what is remembered is not what was allowed")
	}
	info, err := os.Stat(filepath.Join(dir, "consent.json"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	// The oldest answers are dropped.
	for range 300 {
		if err := a.Remember(two); err != nil {
			t.Fatal(err)
		}
	}
	if a.Allow(one) || !a.Allow(two) {
		t.Error("answers are kept for ever, or not at all")
	}
	// Without a directory, nothing is remembered, and that is no failure.
	if err := (consent.Answers{}).Remember(one); err != nil || (consent.Answers{}).Allow(one) {
		t.Error(err)
	}
}

// FuzzAnswers checks that no file of answers stops the question, or answers it by chance.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{"", "{}", `{"allowed":[[]]}`, `{"allowed":[["x"]]}`, `{"allowed":null}`, `[`, `{"allowed":[null,["a","a"]]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "consent.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		asked := []consent.Request{{Kind: "limits"}}
		if (consent.Answers{Dir: dir}).Allow(asked) && !strings.Contains(string(data), asked[0].Digest()) {
			t.Errorf("%q allows everything", data)
		}
		if err := (consent.Answers{Dir: dir}).Remember(asked); err != nil || !(consent.Answers{Dir: dir}).Allow(asked) {
			t.Errorf("after %q nothing is remembered: %v", data, err)
		}
	})
}
