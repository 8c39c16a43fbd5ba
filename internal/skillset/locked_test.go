package skillset

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// install makes a lock of what the servers of an Expert offer now.
func (y *yard) install(t *testing.T, e *expert.Expert) *expert.Lock {
	t.Helper()
	locked := &expert.LockedExpert{Key: e.Key, Name: e.Name}
	for _, k := range e.Servers() {
		s, err := Discover(t.Context(), k, nil, y.Surroundings, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		locked.Skills = append(locked.Skills, s)
	}
	return &expert.Lock{Experts: []*expert.LockedExpert{locked}}
}

func TestDiscover(t *testing.T) {
	program, y := evil.Program(t), newYard(t)
	e := load(t, head+server(program, "calc", "lazyInit = true\npick = ['echo']\n", "good"))
	lock := y.install(t, e)
	s := lock.Experts[0].Skills[0]
	var got []string
	for _, tool := range s.Tools {
		got = append(got, tool.Name)
		if len(tool.Digest) != 64 || tool.Digest != expert.DefinitionDigest(tool.Definition) {
			t.Errorf("%s: digest %q", tool.Name, tool.Digest)
		}
	}
	if !slices.Equal(got, []string{"echo", "add", "fail"}) {
		t.Errorf("tools %q; what pick leaves out is locked as well", got)
	}
	k, _ := e.Skill("calc")
	if s.Name != "calc" || s.Digest != k.Connection() || s.Package != nil {
		t.Errorf("%+v", s)
	}
}

// With a lockfile nothing is started until a tool is called.
func TestLockedStartsAtFirstUse(t *testing.T) {
	program, y := evil.Program(t), newYard(t)
	e := load(t, head+server(program, "calc", "", "good"))
	y.Lock = y.install(t, e)
	y.told = nil
	box := y.open(t, e)
	if got := y.reports(); !slices.Equal(got, []string{"connected " + expert.BaseSkill}) {
		t.Errorf("before the first call: %q", got)
	}
	if !slices.Contains(names(box), "add") {
		t.Errorf("tools %q", names(box))
	}
	if r := call(t, box, "add", `{"a":40,"b":2}`); event.FirstText(r.Result) != "42" {
		t.Errorf("%+v", r)
	}
	if got := y.reports(); !slices.Contains(got, "connected calc") {
		t.Errorf("after the first call: %q", got)
	}
}

// M12: a server that offers something else than when it was installed ends the run, and
// its tool is not called.
func TestRugPull(t *testing.T) {
	program, y := evil.Program(t), newYard(t)
	e := load(t, head+server(program, "calc", "", "rug-pull", "--state", filepath.Join(y.dir, "state")))
	y.Lock = y.install(t, e)
	box := y.open(t, e)
	if r, err := box.Call(t.Context(), event.ToolCall{ID: "c", ToolName: "echo", Args: jsontext.Value(`{"text":"hi"}`)}); err == nil && !r.IsError {
		t.Errorf("the call gave %+v", r)
	}
	if err := <-y.stopped; !strings.Contains(err.Error(), "~ echo") {
		t.Errorf("error %v does not show the difference", err)
	}
}

// A lock that does not fit what is declared starts nothing.
func TestLockDoesNotFit(t *testing.T) {
	program, y := evil.Program(t), newYard(t)
	lock := y.install(t, load(t, head+server(program, "calc", "", "good")))
	for name, toml := range map[string]string{
		"another skill":   server(program, "other", "", "good"),
		"another command": server(program, "calc", "", "shadow"),
	} {
		y.Lock = lock
		if _, err := Open(t.Context(), load(t, head+toml), y.Surroundings); err == nil || !strings.Contains(err.Error(), "run: perstack install") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	y.Lock = &expert.Lock{}
	if _, err := Open(t.Context(), load(t, head+server(program, "calc", "", "good")), y.Surroundings); err == nil || !strings.Contains(err.Error(), "run: perstack install") {
		t.Errorf("another expert: error %v", err)
	}
	// The lock names another package than the file.
	e := load(t, head+server("npx", "p", "", "@a/b"))
	k, _ := e.Skill("p")
	for _, p := range []*expert.LockedPackage{nil, {Manager: "npx", Name: "@evil/b", Version: "1.0.0"}, {Manager: "uvx", Name: "@a/b"}} {
		y.Lock = &expert.Lock{Experts: []*expert.LockedExpert{{Key: "x", Skills: []*expert.LockedSkill{{Name: "p", Digest: k.Connection(), Package: p}}}}}
		if _, err := Open(t.Context(), e, y.Surroundings); err == nil || !strings.Contains(err.Error(), "run: perstack install") {
			t.Errorf("package %+v: error %v", p, err)
		}
	}
}
