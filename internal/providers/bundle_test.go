package providers

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// packed packs and opens again, and returns what was said on the way.
func packed(t *testing.T, c Config) (p *Bundle, said []string) {
	t.Helper()
	c.Warn = func(message string) { said = append(said, message) }
	p, err := Pack(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(p.Unpack(c)); err != nil {
		t.Fatal(err)
	}
	return p, said
}

// In another place the user's environment goes before env files as it does here: a file's
// key takes no place of the user's, and says nothing about where that goes.
func TestBundleKeepsWhoseWordCounts(t *testing.T) {
	c := env{"GOOGLE_GENERATIVE_AI_API_KEY": inFile + "of-the-file", "GEMINI_API_KEY": "of-the-user"}.choose("google", "gemini-2.5-pro")
	p, _ := packed(t, c)
	o := &opening{Config: p.Unpack(Config{Provider: "google"})}
	if v := o.variable("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"); v.value != "of-the-user" || v.file != "" {
		t.Errorf("%+v", v)
	}
	if v := p.Variables["GOOGLE_GENERATIVE_AI_API_KEY"]; v != (Variable{"of-the-file", ".env"}) {
		t.Errorf("%+v", v)
	}

	detour := env{"ANTHROPIC_API_KEY": secretKey, "ANTHROPIC_BASE_URL": inFile + "https://evil.example/v1"}.choose("anthropic", "claude-sonnet-4-5")
	_, err := Pack(detour, nil)
	expect(t, err, "does not say where your key goes")
	forged := &Bundle{Variables: map[string]Variable{"ANTHROPIC_API_KEY": {Value: secretKey}, "ANTHROPIC_BASE_URL": {"https://evil.example/v1", ".env"}}}
	_, err = Open(forged.Unpack(Config{Provider: "anthropic", Model: "claude-sonnet-4-5"}))
	expect(t, err, "does not say where your key goes")

	_, err = Pack(enough("anthropic").with(proxyVariable, inFile+"http://proxy:1").choose("anthropic", "claude-sonnet-4-5"), nil)
	expect(t, err, "PERSTACK_PROXY_URL is set in .env")
}

// What is worth a line is said once, where it is packed.
func TestBundleSaysNothingTwice(t *testing.T) {
	c := enough("openai").choose("openai", "gpt-nobody-knows")
	c.Setting = expert.Setting{BaseURL: "https://gateway.example/v1"}
	if _, said := packed(t, c); len(said) != 2 {
		t.Errorf("%q", said)
	}
}

// Files are read with the function of the Config, and in a container from the bundle only: what
// is not in it does not exist, whatever the machine has.
func TestBundleFiles(t *testing.T) {
	const path = `C:\Users\me\AppData\Roaming\gcloud\application_default_credentials.json`
	windows := &Bundle{
		Variables: map[string]Variable{"APPDATA": {Value: `C:\Users\me\AppData\Roaming`}, "GOOGLE_VERTEX_PROJECT": {Value: "p"}, "GOOGLE_VERTEX_LOCATION": {Value: "eu"}},
		Files:     map[string][]byte{path: []byte(`{"type":"authorized_user","client_id":"c","client_secret":"the-client-secret","refresh_token":"the-refresh-token"}`)},
	}
	hidden := map[string]string{}
	c := Config{Provider: "google-vertex", Model: "gemini-2.5-pro", Hide: func(name, value string) { hidden[name] = value }}
	if _, err := Open(windows.Unpack(c)); err != nil || hidden["refresh_token"] != "the-refresh-token" {
		t.Errorf("%v, hidden %v", err, hidden)
	}

	here := enough("anthropic").with(rootsVariable, "ca.pem").choose("anthropic", "claude-sonnet-4-5")
	here.Dir = t.TempDir()
	var read []string
	here.ReadFile = func(path string, _ int64) ([]byte, error) {
		read = append(read, path)
		return nil, fs.ErrPermission
	}
	if _, err := Pack(here, nil); !errors.Is(err, fs.ErrPermission) || len(read) != 1 || !strings.HasPrefix(read[0], here.Dir) {
		t.Errorf("%v, read %q", err, read)
	}

	p := &Bundle{Variables: map[string]Variable{rootsVariable: {Value: "bundle_test.go"}, "ANTHROPIC_API_KEY": {Value: "k"}}, Files: map[string][]byte{"large": make([]byte, 3)}}
	if _, err := Open(p.Unpack(Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Dir: "."})); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if proxy, err := (&opening{Config: p.Unpack(Config{})}).proxy(); err != nil || proxy != nil {
		t.Errorf("%v: a proxy of the process counts", err)
	}
	if _, err := p.readFile("large", 2); err == nil {
		t.Error("a file was larger than allowed, and was read")
	}
}

// A team is packed for all of its Experts.
func TestPackTeam(t *testing.T) {
	c := enough("anthropic").choose("anthropic", "claude-sonnet-4-5")
	searcher := &expert.Expert{Key: "searcher", ProviderTools: []string{"webSearch"}}
	p, err := Pack(c, []*expert.Expert{{Key: "lead"}, searcher})
	if err != nil || !slices.Equal(p.URLs, []string{"https://api.anthropic.com"}) || len(p.Variables) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	searcher.ProviderTools = []string{"webSerch"}
	_, err = Pack(c, []*expert.Expert{{Key: "lead"}, searcher})
	expect(t, err, `expert "searcher": `)
}

// Every address that a container cannot reach is reported, with what to do.
func TestCheckContainer(t *testing.T) {
	for name, tt := range map[string]struct {
		c    Config
		want string // empty: all can be reached
	}{
		"as usual":       {enough("openai").choose("openai", "gpt-5"), ""},
		"ollama here":    {env{}.choose("ollama", "gpt-oss:20b"), "ollama at http://127.0.0.1:11434 is on this machine, and nothing in the container reaches this machine; use the local runtime, or put it behind https on a public name"},
		"localhost":      {env{"OLLAMA_BASE_URL": "http://localhost:11434"}.choose("ollama", "gpt-oss:20b"), "ollama at http://localhost:11434 is on this machine"},
		"local":          {env{"OLLAMA_BASE_URL": "http://192.168.1.5:11434"}.choose("ollama", "gpt-oss:20b"), "ollama at http://192.168.1.5:11434 is in a private network"},
		"one label":      {enough("openai").with("OPENAI_BASE_URL", "https://gateway/v1").choose("openai", "gpt-5"), "openai at https://gateway is in a private network"},
		"plain":          {env{"OLLAMA_BASE_URL": "http://ollama.example"}.choose("ollama", "gpt-oss:20b"), "ollama at http://ollama.example is not https"},
		"another port":   {enough("openai").with("OPENAI_BASE_URL", "https://gw.example:8443/v1").choose("openai", "gpt-5"), "openai at https://gw.example:8443 is not at port 443"},
		"a number":       {enough("openai").with("OPENAI_BASE_URL", "https://8.8.8.8/v1").choose("openai", "gpt-5"), "openai at https://8.8.8.8 cannot be reached from the container: its proxy connects to names, not to addresses; give its name"},
		"an odd number":  {enough("openai").with("OPENAI_BASE_URL", "https://134744072/v1").choose("openai", "gpt-5"), "cannot be reached from the container: its proxy connects to names, not to addresses; give its name"},
		"a long number":  {enough("openai").with("OPENAI_BASE_URL", "https://[2606:4700::1]/v1").choose("openai", "gpt-5"), "openai at https://[2606:4700::1] cannot be reached from the container: its proxy connects to names, not to addresses; give its name"},
		"no credentials": {enough("google-vertex").choose("google-vertex", "gemini-2.5-pro"), "google-vertex at http://metadata.google.internal is the metadata server of a machine of Google Cloud, and nothing in the container reaches it; set GOOGLE_APPLICATION_CREDENTIALS"},
		"another server": {enough("google-vertex").with("GCE_METADATA_HOST", "169.254.169.254").choose("google-vertex", "gemini-2.5-pro"), "google-vertex at http://169.254.169.254 is in a private network"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Pack(tt.c, nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, CheckReachable(tt.c.Provider, p.URLs), tt.want)
		})
	}
	err := CheckReachable("both", []string{"http://localhost:1", "https://api.example.com", "https://me:" + secretKey + "@gw.example:1/path"})
	expect(t, err, "both at http://localhost:1 is on this machine")
	expect(t, err, "\nboth at https://gw.example:1 is not at port 443")
	if strings.Contains(err.Error(), secretKey) {
		t.Error(err)
	}
	for _, odd := range []string{"", "::", "https://", "gateway"} {
		if CheckReachable("x", []string{odd}) == nil {
			t.Errorf("%q can be reached", odd)
		}
	}
}

func TestHosts(t *testing.T) {
	got := Hosts([]string{"https://b.example", "https://A.example:443/v1", "https://a.example./", "::"})
	if !slices.Equal(got, []string{"a.example", "b.example"}) {
		t.Errorf("%q", got)
	}
}

// The page says what goes along and where to, for every provider: as it is.
func TestPageSaysWhatGoesAlong(t *testing.T) {
	table := section(t, "## In the Docker runtime")
	for _, provider := range model.Providers() {
		if provider == "replay" {
			continue
		}
		name := model.DefaultModel(provider)
		if name == "" {
			name = "gpt-5"
		}
		asked := map[string]bool{}
		c := enough(provider).choose(provider, name)
		get := c.Variables
		c.Variables = func(name string) Variable { asked[name] = true; return get(name) }
		p, err := Pack(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		row := ""
		for line := range strings.Lines(table) {
			if strings.HasPrefix(line, "| `"+provider+"` |") {
				row = line
			}
		}
		delete(asked, proxyVariable)
		delete(asked, rootsVariable) // of all
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			if !strings.Contains(row, "`"+name+"`") && name != "HOME" && name != "APPDATA" && name != "GCE_METADATA_HOST" {
				t.Errorf("%s: %s may go along, and is not in %q", provider, name, row)
			}
		}
		usual := strings.NewReplacer("mine.", "<name>.", "us-east-1", "<region>", "us-central1-", "<location>-")
		for _, host := range Hosts(p.URLs) {
			if host = usual.Replace(host); !strings.Contains(row, "`"+host+"`") && host != "metadata.google.internal" && provider != "ollama" && provider != "openai-compatible" {
				t.Errorf("%s: %s is spoken to, and is not in %q", provider, host, row)
			}
		}
	}
}

// A bundle of several models has what each of them needs, once.
func TestBundleAdd(t *testing.T) {
	var all Bundle
	all.Add(&Bundle{Variables: map[string]Variable{"A": {Value: "a"}}, Files: map[string][]byte{"/a": []byte("a")}, URLs: []string{"https://b.example", "https://c.example"}, Team: Team{"a": nil}})
	all.Add(&Bundle{Variables: map[string]Variable{"B": {Value: "b"}}, URLs: []string{"https://a.example", "https://b.example"}, Upstream: "http://proxy.example", Team: Team{"b": nil}})
	want := Bundle{
		Variables: map[string]Variable{"A": {Value: "a"}, "B": {Value: "b"}}, Files: map[string][]byte{"/a": []byte("a")},
		URLs: []string{"https://a.example", "https://b.example", "https://c.example"}, Upstream: "http://proxy.example",
		Team: Team{"a": nil, "b": nil},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
