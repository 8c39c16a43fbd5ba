package job

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

func fullSpec() Spec {
	e := &expert.Expert{
		Key: "writer", Name: "writer", Version: "1.0.0", Instruction: "Write.", Delegates: []string{"helper"},
		Limits: expert.Limits{MaxSteps: 3, MaxDuration: 90 * time.Second},
		Skills: []*expert.Skill{
			{Name: "search", Type: expert.HTTPSkill, Endpoint: "https://search.example/mcp", Headers: []expert.Header{{Name: "Authorization", Value: "Bearer topsecret"}}, CallTimeout: time.Minute},
			{Name: "ask", Type: expert.InteractiveSkill, Tools: []expert.InteractiveTool{{Name: "name", InputSchema: []byte(`{"type":"object"}`)}}},
		},
	}
	return Spec{
		JobID: "j", RunID: "r", Input: Input{
			Query: "q", Attachments: []event.Attachment{{Name: "a.png", MIMEType: "image/png", Size: 3, Digest: "sha256:a"}}, Continue: true, From: "c",
			Answer: &event.ToolAnswer{ToolCallID: "t", Text: "yes"},
		},
		Expert: "writer", Experts: []*expert.Expert{e, {Key: "helper", Name: "helper"}}, Project: []string{"writer", "helper"},
		Settings: Settings{
			Provider: "anthropic", Model: "m", Setting: expert.Setting{BaseURL: "https://x.example", Headers: map[string]string{"X-Key": "topsecret"}},
			Reasoning: "low", Runtime: Docker,
			Limits:    Limits{Limits: expert.Limits{MaxSteps: 5, MaxCost: 0.5, MaxDuration: time.Hour}, MaxRetries: None, Timeout: None},
			Isolation: Isolation{Env: []string{"A"}, Container: DefaultContainer()},
		},
		Prices:    map[string]expert.Price{"m": {Input: 3, Output: 15, Long: expert.LongPrice{Above: 200_000, Input: 6}}},
		Models:    map[string]expert.ModelEntry{"m": {ContextWindow: 10}},
		Workspace: Workspace{Dir: "/w", Hidden: []string{"/w/.env"}},
		Lock:      "version = 1\n", LockPath: "/w/perstack.lock",
	}
}

// A Spec that was sent somewhere is the same there, but for the values of headers, which
// travel beside it.
func TestSpecRoundTrip(t *testing.T) {
	spec := fullSpec()
	text, err := spec.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "topsecret") {
		t.Errorf("the Spec holds a secret: %s", text)
	}
	var got Spec
	if err := got.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	got.SetHeaders(spec.Headers())
	if diff := cmp.Diff(spec, got); diff != "" {
		t.Errorf("after a round trip (-sent +got):\n%s", diff)
	}
	again, err := got.MarshalJSON()
	if err != nil || string(again) != string(text) {
		t.Errorf("the text is not stable: %v\n%s\n%s", err, text, again)
	}
}

// What belongs in a journal names neither job nor input, which are recorded beside it.
func TestRecordedSpec(t *testing.T) {
	spec := fullSpec()
	text, err := spec.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseRecorded(text)
	if err != nil {
		t.Fatal(err)
	}
	if got.JobID != "" || got.RunID != "" || !reflect.DeepEqual(got.Input, Input{}) || !strings.HasPrefix(got.Lock, "sha256:") || got.Workspace.Hidden != nil {
		t.Errorf("recorded: %+v", got)
	}
	if diff := cmp.Diff(spec.Limits, got.Limits); diff != "" {
		t.Errorf("limits (-sent +got):\n%s", diff)
	}
	if spec.JobID != "j" {
		t.Error("recording changed the Spec")
	}
}

// Completing a Spec again changes nothing: the default of a setting stays a default.
func TestCompleteTwice(t *testing.T) {
	for _, spec := range []Spec{{}, {Settings: Settings{Reasoning: "high"}}, fullSpec()} {
		spec.Complete(providers{})
		once := spec
		spec.Complete(providers{})
		if diff := cmp.Diff(once, spec); diff != "" {
			t.Errorf("(-once +twice):\n%s", diff)
		}
	}
	spec := Spec{Settings: Settings{Reasoning: "high"}}
	if spec.Complete(providers{}); spec.ReasoningDefault {
		t.Error("a budget that the program set counts as the default")
	}
}

// Completing a Spec adds defaults and changes nothing that is set: every field of the
// settings, those of a container included, is set to something that is no default.
func TestCompleteKeepsSettings(t *testing.T) {
	spec := fullSpec()
	spec.ReasoningDefault = true
	spec.Isolation = Isolation{
		Env: []string{"A"}, SharedSandbox: true,
		Container: Container{
			Memory: 1 << 20, MemoryReservation: 1 << 10, CPUs: 0.5, PIDs: 70, TmpSize: 1, CacheSize: 2,
			BaseImage: "base", NodeImage: "node", PythonImage: "python", SquidImage: "squid", Mirrors: []string{"m"}, Offline: true,
			Proxy: ProxySquid, ReadOnlyWorkspace: true, DNS: []string{"192.0.2.1"}, Network: "n",
			BuildTimeout: 1, StartTimeout: 2, IdleTimeout: 3, TotalTimeout: 4, MaxJournalBytes: 5,
		},
	}
	spec.Approvals = Approvals{
		Sources: []Rules{{Origin: FromUser, Preset: PresetAsk}}, AllowAll: true, Plan: true, SandboxOff: true, TrustHints: []string{"web"}, Timeout: 6,
	}
	spec.Snapshots = Snapshots{Mode: SnapshotsRequired, MaxFileBytes: 1, MaxSnapshotBytes: 2, MaxEntries: 3, MaxStoreBytes: 4, Exclude: []string{"a"}}
	for i, set := range []reflect.Value{reflect.ValueOf(spec.Approvals), reflect.ValueOf(spec.Snapshots), reflect.ValueOf(spec.Isolation.Container), reflect.ValueOf(spec.Settings.Isolation)} {
		for j := range set.NumField() {
			if name := set.Type().Field(j).Name; set.Field(j).IsZero() && !slices.Contains([]string{"Sandbox", "Reach", "SandboxLimits"}, name) {
				t.Errorf("%d: this test does not set %s", i, name)
			}
		}
	}
	want := spec.Settings
	for _, l := range AllLimits() {
		if l.Value(&want.Limits) == 0 {
			l.Set(&want.Limits, l.Default)
		}
	}
	spec.Complete(providers{})
	if diff := cmp.Diff(want, spec.Settings); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
	local := Spec{Settings: Settings{Isolation: Isolation{Sandbox: expert.SandboxLandlock}}}
	if local.Complete(providers{}); local.Isolation.Sandbox != expert.SandboxLandlock || local.Runtime != Local || local.Limits.MaxSteps != expert.DefaultMaxSteps {
		t.Errorf("completed: %+v", local.Settings)
	}
}

// A Spec that continues a job keeps what is stricter in the record, whatever it says itself,
// and takes from the record what it says nothing about.
func TestResume(t *testing.T) {
	recorded := fullSpec()
	recorded.Isolation.Container.ReadOnlyWorkspace = true
	for _, c := range []struct {
		name  string
		spec  Spec
		check func(Spec) bool
	}{
		{"nothing said", Spec{}, func(s Spec) bool {
			return s.Runtime == Docker && s.Limits.MaxSteps == 5 && s.Provider == "anthropic" && s.Model == "m" && s.Isolation.Container.ReadOnlyWorkspace
		}},
		{"more allowed", Spec{Settings: Settings{Runtime: Local, Limits: Limits{Limits: expert.Limits{MaxSteps: 9}}}}, func(s Spec) bool {
			return s.Runtime == Docker && s.Limits.MaxSteps == 5
		}},
		{"less allowed", Spec{Settings: Settings{Limits: Limits{Limits: expert.Limits{MaxSteps: 2}}, Isolation: Isolation{Container: Container{Offline: true}}}}, func(s Spec) bool {
			return s.Limits.MaxSteps == 2 && s.Isolation.Container.Offline
		}},
	} {
		recorded.Isolation.Env, recorded.Isolation.Container.BaseImage = []string{"SECRET"}, "evil.example/image:1"
		c.spec.Workspace.Dir = "/w"
		if err := c.spec.Resume(recorded, providers{}); err != nil || !c.check(c.spec) || len(c.spec.Isolation.Env) > 0 || c.spec.Isolation.Container.BaseImage != "" {
			t.Errorf("%s: %v, %+v", c.name, err, c.spec.Settings)
		}
	}
	recorded.Isolation.Container = Container{Memory: 1 << 30, CPUs: 1, PIDs: 100, TmpSize: 64 << 20, CacheSize: 8 << 30, TotalTimeout: time.Hour, MaxJournalBytes: -1, Offline: true}
	strict := DefaultContainer()
	strict.Memory, strict.CPUs, strict.PIDs, strict.TmpSize, strict.CacheSize, strict.TotalTimeout, strict.Offline = 1<<30, 1, 90, 64<<20, 8<<30, time.Hour, true
	contained := Spec{Workspace: Workspace{Dir: "/w"}, Settings: Settings{Isolation: Isolation{Container: Container{Memory: 4 << 30, PIDs: 90, CacheSize: -1}}}}
	if err := contained.Resume(recorded, providers{}); err != nil || !cmp.Equal(contained.Isolation.Container, strict) {
		t.Errorf("%v, (-want +got)\n%s", err, cmp.Diff(strict, contained.Isolation.Container))
	}
	moved := (*MovedError)(nil)
	elsewhere := Spec{Workspace: Workspace{Dir: "/elsewhere"}}
	if err := elsewhere.Resume(recorded, providers{}); !errors.As(err, &moved) || moved.Had != "/w" {
		t.Errorf("%v", err)
	}
	recorded = Spec{Settings: Settings{Runtime: Local, Isolation: Isolation{Sandbox: expert.SandboxLandlock}}}
	if spec := (Spec{}); spec.Resume(recorded, providers{}) != nil || spec.Isolation.Sandbox != expert.SandboxLandlock {
		t.Error("the sandbox is gone")
	}
	if spec := (Spec{Settings: Settings{Isolation: Isolation{Sandbox: expert.SandboxLandlock}}}); spec.Resume(Spec{}, providers{}) != nil || spec.Isolation.Sandbox != expert.SandboxLandlock {
		t.Error("the sandbox that the Spec asks for is gone")
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		change func(*Spec)
		want   string // "" for a Spec that can be run
	}{
		{func(*Spec) {}, ""},
		{func(s *Spec) { s.Expert = "" }, "Spec.Expert is empty"},
		{func(s *Spec) { s.Expert = "other" }, `"other" is not in Spec.Experts`},
		{func(s *Spec) { s.Experts = s.Experts[:1] }, `the delegate "helper" is not in Spec.Experts`},
		{func(s *Spec) { s.Experts = append(s.Experts, nil) }, "nil Expert"},
		{func(s *Spec) { s.Experts = append(s.Experts, s.Experts[1]) }, "two Experts"},
		{func(s *Spec) { s.Workspace.Dir = "" }, "Spec.Workspace.Dir is empty"},
		{func(s *Spec) { s.Input = Input{} }, "Spec.Input.Query is empty"},
		{func(s *Spec) { s.Input.Query = "" }, "Spec.Input.Attachments go with a query"},
		{func(s *Spec) { s.Input.Attachments = slices.Repeat(s.Input.Attachments, 20) }, ""},
		{func(s *Spec) { s.Input.Attachments = slices.Repeat(s.Input.Attachments, 21) }, "has 21 attachments; a query can have 20"},
		{func(s *Spec) { s.Input.Attachments[0].Size = 5 << 20 }, ""},
		{func(s *Spec) { s.Input.Attachments[0].Size = 5<<20 + 1 }, `"a.png" in Spec.Input is empty, or larger than 5 MiB`},
		{func(s *Spec) { s.Input.Attachments[0].Size = 0 }, "is empty"},
		{func(s *Spec) { s.Input.Attachments[0].Name = "" }, "has no name"},
		{func(s *Spec) { s.Runtime = "moon" }, `"moon" is unknown`},
		{func(s *Spec) { s.Limits.MaxSteps = -5 }, "maxSteps is not a limit"},
		{func(s *Spec) { s.Limits.MaxCost = math.NaN() }, "maxCost is not a limit"},
		{func(s *Spec) { s.Limits.MaxCost = math.Inf(1) }, "maxCost is not a limit"},
		{func(s *Spec) { s.Limits.MaxTokens = None }, "maxTokens is not a limit"},
		{func(s *Spec) { s.Limits.MaxRetries = None }, ""},
	} {
		spec := fullSpec()
		c.change(&spec)
		err := spec.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("a usable Spec is refused: %v", err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

// A limit that the table does not know would be neither checked, resolved nor offered.
func TestEveryLimitHasARow(t *testing.T) {
	var all Limits
	for i, l := range AllLimits() {
		l.Set(&all, float64(i+1))
		if got := l.Value(&all); math.Abs(got-float64(i+1)) > 1e-9 {
			t.Errorf("%s: set to %d, reads %g", l.Name, i+1, got)
		}
	}
	text, err := (Spec{Settings: Settings{Limits: all}}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range AllLimits() {
		if !strings.Contains(string(text), `"`+l.Name+`"`) {
			t.Errorf("%s has another name in JSON", l.Name)
		}
	}
}
