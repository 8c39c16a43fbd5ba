package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

// providers is a catalogue of two.
type providers struct{}

func (providers) Known(p string) bool { return p == "anthropic" || p == "openai" }
func (providers) DefaultModel(p string) string {
	return map[string]string{"anthropic": "claude", "openai": "gpt"}[p]
}
func (providers) DefaultTimeout(p string) time.Duration {
	if p == "slow" {
		return time.Hour
	}
	return 0
}

func (providers) Fits(p, model string) bool {
	return (p == "anthropic") == (model == "claude" || model == "opus")
}

func resolve(flags Flags, file, recorded Settings) Resolved {
	return Resolve(flags, file, recorded, providers{})
}

func steps(n int) Settings { return Settings{Limits: Limits{Limits: expert.Limits{MaxSteps: n}}} }

func TestResolveLimits(t *testing.T) {
	for _, c := range []struct {
		name                 string
		flag, file, recorded int
		want                 int
		from                 Layer
	}{
		{"nothing is said", 0, 0, 0, 100, Default},
		{"the file alone", 0, 30, 0, 30, File},
		{"the record alone", 0, 0, 40, 40, Record},
		{"the stricter of file and record: file", 0, 30, 40, 30, File},
		{"the stricter of file and record: record", 0, 50, 40, 40, Record},
		{"a flag lowers", 10, 30, 40, 10, Flag},
		{"a flag raises", 500, 30, 40, 500, Flag},
		{"a record that no user could have made", 0, 0, -3, 100, Default},
	} {
		got := resolve(Flags{Settings: steps(c.flag)}, steps(c.file), steps(c.recorded))
		if got.Limits.MaxSteps != c.want || got.From("maxSteps") != c.from {
			t.Errorf("%s: %d from layer %d, want %d from %d", c.name, got.Limits.MaxSteps, got.From("maxSteps"), c.want, c.from)
		}
	}
}

// A provider whose models are slow has a longer default. What the user says still counts.
func TestResolveTimeoutOfAProvider(t *testing.T) {
	slow := Settings{Provider: "slow"}
	if got := resolve(Flags{}, slow, Settings{}).Limits.Timeout; got != time.Hour {
		t.Errorf("the default is %v", got)
	}
	slow.Limits.Timeout = time.Minute
	if got := resolve(Flags{}, slow, Settings{}).Limits.Timeout; got != time.Minute {
		t.Errorf("the file's is %v", got)
	}
	if got := resolve(Flags{}, Settings{}, Settings{}).Limits.Timeout; got != expert.DefaultTimeout {
		t.Errorf("that of others is %v", got)
	}
}

// Without retries is stricter than with some; without a timeout is not stricter than with one.
func TestResolveNone(t *testing.T) {
	none := Settings{Limits: Limits{MaxRetries: None, Timeout: None}}
	some := Settings{Limits: Limits{MaxRetries: 3, Timeout: time.Minute}}
	for _, got := range []Resolved{resolve(Flags{}, none, some), resolve(Flags{}, some, none)} {
		if got.Limits.Retries() != 0 || got.Limits.GenerationTimeout() != time.Minute {
			t.Errorf("%d retries and a timeout of %s, want the stricter of both: 0 and 1m", got.Limits.Retries(), got.Limits.GenerationTimeout())
		}
	}
	if got := resolve(Flags{Settings: none}, some, some); got.Limits.GenerationTimeout() != 0 {
		t.Errorf("a flag without a timeout gives %s", got.Limits.GenerationTimeout())
	}
}

func TestResolveModel(t *testing.T) {
	for _, c := range []struct {
		name            string
		flags           Flags
		file, recorded  Settings
		provider, model string
	}{
		{"nothing is said", Flags{}, Settings{}, Settings{}, "anthropic", "claude"},
		{"the record is kept", Flags{}, Settings{}, Settings{Provider: "openai", Model: "o9"}, "openai", "o9"},
		{"a flag changes the company, not with the old model", Flags{Settings: Settings{Provider: "anthropic"}}, Settings{}, Settings{Provider: "openai", Model: "o9"}, "anthropic", "claude"},
		{"the file's model belongs to the default provider", Flags{}, Settings{Model: "opus"}, Settings{Provider: "openai", Model: "o9"}, "openai", "o9"},
		{"the file's model replaces the recorded one", Flags{}, Settings{Model: "gpt-next"}, Settings{Provider: "openai", Model: "o9"}, "openai", "gpt-next"},
		{"a record names an unknown provider", Flags{}, Settings{}, Settings{Provider: "evil", Model: "m"}, "anthropic", "claude"},
	} {
		got := resolve(c.flags, c.file, c.recorded)
		if got.Provider != c.provider || got.Model != c.model {
			t.Errorf("%s: %s/%s, want %s/%s", c.name, got.Provider, got.Model, c.provider, c.model)
		}
	}
}

// Settings of one provider hold keys and addresses that no other may see.
func TestResolveSettingStaysWithItsProvider(t *testing.T) {
	file := Settings{Provider: "openai", Setting: expert.Setting{BaseURL: "https://gateway.example"}}
	if got := resolve(Flags{Settings: Settings{Provider: "anthropic"}}, file, Settings{}); got.Setting.BaseURL != "" {
		t.Errorf("anthropic gets the base URL of openai: %s", got.Setting.BaseURL)
	}
	if got := resolve(Flags{}, file, Settings{}); got.Setting.BaseURL == "" {
		t.Error("openai lost its base URL")
	}
	if got := resolve(Flags{}, Settings{}, file); got.Setting.BaseURL != "" {
		t.Error("a base URL is taken from a record")
	}
}

func TestResolveIsolation(t *testing.T) {
	docker := func(c Container, names ...string) Settings {
		return Settings{Runtime: Docker, Isolation: Isolation{Env: names, Container: c}}
	}
	local := Settings{Runtime: Local}
	level := func(l expert.SandboxLevel) Settings { return Settings{Isolation: Isolation{Sandbox: l}} }
	sandboxed := Settings{Runtime: Local, Isolation: Isolation{Sandbox: expert.SandboxLandlock}}
	for _, c := range []struct {
		name           string
		flags          Flags
		file, recorded Settings
		check          func(Resolved) bool
	}{
		{"a container is kept although the file says local", Flags{}, local, docker(Container{}), func(r Resolved) bool { return r.Runtime == Docker }},
		{"a record names an unknown runtime", Flags{}, Settings{}, Settings{Runtime: "ev\x1bil"}, func(r Resolved) bool { return r.Runtime == Local && r.From("runtime") == Default }},
		{"only a flag leaves the container", Flags{Settings: local}, local, docker(Container{}), func(r Resolved) bool { return r.Runtime == Local }},
		{"only a flag leaves the sandbox", Flags{Settings: level(expert.SandboxOff)}, Settings{}, sandboxed, func(r Resolved) bool { return r.Isolation.Sandbox == expert.SandboxOff }},
		{"a read-only workspace is kept", Flags{}, docker(Container{}), docker(Container{ReadOnlyWorkspace: true}), func(r Resolved) bool { return r.Isolation.Container.ReadOnlyWorkspace }},
		{"only a flag makes it writable", Flags{WritableWorkspace: true}, docker(Container{}), docker(Container{ReadOnlyWorkspace: true}), func(r Resolved) bool { return !r.Isolation.Container.ReadOnlyWorkspace }},
		{"the file's read-only workspace has no flag against it", Flags{WritableWorkspace: true}, docker(Container{ReadOnlyWorkspace: true}), Settings{}, func(r Resolved) bool { return r.Isolation.Container.ReadOnlyWorkspace }},
		{"variables of commands are kept, sorted", Flags{}, Settings{}, docker(Container{}, "B", "A", "B"), func(r Resolved) bool {
			return cmp.Equal(r.Isolation.Env, []string{"A", "B"}) && r.From("env") == Record
		}},
		{"a flag replaces them", Flags{Settings: docker(Container{}, "C")}, Settings{}, docker(Container{}, "A"), func(r Resolved) bool { return cmp.Equal(r.Isolation.Env, []string{"C"}) }},
		{"a shared sandbox is never kept", Flags{}, Settings{}, Settings{Runtime: Docker, Isolation: Isolation{SharedSandbox: true}}, func(r Resolved) bool { return !r.Isolation.SharedSandbox }},
		{"a proxy is never taken from a record", Flags{}, Settings{}, docker(Container{Proxy: ProxySquid}), func(r Resolved) bool { return r.Isolation.Container.Proxy == ProxyBuiltin }},
		{"an image of the file goes before the recorded one", Flags{}, docker(Container{BaseImage: "a"}), docker(Container{BaseImage: "b"}), func(r Resolved) bool { return r.Isolation.Container.BaseImage == "a" && r.From("baseImage") == File }},
		{"the local runtime has no container", Flags{}, Settings{Isolation: Isolation{Container: Container{BaseImage: "a"}}}, Settings{}, func(r Resolved) bool { return cmp.Equal(r.Isolation, Isolation{Sandbox: DefaultSandbox}) }},
		{"a container has its defaults", Flags{Settings: Settings{Runtime: Docker}}, Settings{}, Settings{}, func(r Resolved) bool { return cmp.Equal(r.Isolation.Container, DefaultContainer()) }},
	} {
		if got := resolve(c.flags, c.file, c.recorded); !c.check(got) {
			t.Errorf("%s: %s %+v", c.name, got.Runtime, got.Isolation)
		}
	}
}

// What lets a job do more is looser; the value itself is not, and neither is no retry.
func TestLooser(t *testing.T) {
	for _, tt := range []struct {
		name        string
		value, than float64
		want        bool
	}{
		{"maxSteps", 101, 100, true}, {"maxSteps", 100, 100, false}, {"maxSteps", 99, 100, false}, {"maxSteps", 0, 100, true},
		{"maxRetries", None, 5, false}, {"maxRetries", 6, 5, true},
		{"timeout", None, 300, true}, {"timeout", 301, 300, true}, {"timeout", 1, 300, false},
	} {
		for _, l := range AllLimits() {
			if l.Name == tt.name && l.Looser(tt.value, tt.than) != tt.want {
				t.Errorf("%s %v against %v: want %v", tt.name, tt.value, tt.than, tt.want)
			}
		}
	}
}
