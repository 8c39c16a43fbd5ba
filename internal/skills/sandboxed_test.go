package skills

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// A sandbox is removed after its skill has ended.
func TestSandboxIsRemovedLast(t *testing.T) {
	var order []string
	broken, stuck := errors.New("broken"), errors.New("stuck")
	who := &sandboxedSkill{closing{close: func() error { order = append(order, "skill"); return broken }}, func() error { order = append(order, "sandbox"); return stuck }}
	if err := who.Close(); !errors.Is(err, broken) || !errors.Is(err, stuck) {
		t.Error(err)
	}
	if !slices.Equal(order, []string{"skill", "sandbox"}) {
		t.Error(order)
	}
}

type closing struct {
	skill.Skill
	close func() error
}

func (c closing) Close() error { return c.close() }

// What a sandbox may have at most is said for each program.
func TestSandboxCountsTasks(t *testing.T) {
	r := &skillSandbox{sandboxes: &Sandboxes{MaxTasks: 7}}
	if got := r.policy("/workspace", nil, 0).Limits.Tasks; got != 7 {
		t.Error(got)
	}
	if l, want := OnHost(false).limits(), job.DefaultSandboxLimits(); l.Tasks != want.Processes || l.Memory != want.Memory || l.FileSize != want.DiskGrowth {
		t.Error("tasks are not limited")
	}
}

// What the user opens is open, and hosts are added for commands alone.
func TestReach(t *testing.T) {
	c := &Sandboxes{System: []string{"/usr"}, Reach: job.Reach{Read: []string{"/data"}, Write: []string{"/out"}, Domains: []string{"b.example"}}}
	p := (&skillSandbox{sandboxes: c, right: expert.WorkspaceRead}).policy("/workspace", []string{"/opt/x"}, 0)
	if !slices.Equal(p.Read, []string{"/usr", "/data", "/opt/x"}) || !slices.Contains(p.Write, "/out") || slices.Contains(p.Write, "/data") {
		t.Errorf("%+v", p)
	}
	base := &expert.Skill{Name: expert.BaseSkill, BuiltIn: true, AllowedDomains: []string{"a.example"}}
	server := &expert.Skill{Name: "s", AllowedDomains: []string{"a.example"}}
	if got := c.hosts(base); !slices.Equal(got, []string{"a.example", "b.example"}) {
		t.Error(got)
	}
	if got := c.hosts(server); !slices.Equal(got, []string{"a.example"}) {
		t.Error(got)
	}
	c.Reach.Network = job.NetworkNone
	if got := slices.Concat(c.hosts(base), c.hosts(server)); len(got) > 0 {
		t.Error(got)
	}
}

// A sandboxed skill keeps its memory, like the todo list.
func TestSandboxedSkillRemembers(t *testing.T) {
	inner := &remembering{}
	wrapped := &sandboxedSkill{Skill: inner, remove: func() error { return nil }}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: wrapped}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Recall(map[string]rawjson.Value{"list": rawjson.Value(`[1]`)}); err != nil || string(box.Memory("list")) != "[1]" {
		t.Errorf("%s, %v", box.Memory("list"), err)
	}
}

type remembering struct {
	skill.Skill
	memory rawjson.Value
}

func (r *remembering) Name() string                      { return "list" }
func (r *remembering) Memory() rawjson.Value             { return r.memory }
func (r *remembering) Recall(memory rawjson.Value) error { r.memory = memory; return nil }

func (r *remembering) Tools(context.Context) ([]skill.Tool, error) { return nil, nil }

// Each listener has a port and a token of its own, which is hidden from what programs print.
func TestListenersAreNotAlike(t *testing.T) {
	parts := testParts()
	s := (&Site{Parts: parts, Sandboxes: OnHost(true)}).newSet(t.Context(), engine.SkillRequest{Expert: &expert.Expert{Key: "x"}})
	g, err := s.openListeners([]*expert.Skill{{Name: "a"}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	seen := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		u, err := url.Parse(g.addresses[name])
		if err != nil || u.User.Username() != egress.TokenUser {
			t.Fatal(u, err)
		}
		token, _ := u.User.Password()
		if len(token) < 20 || seen[token] || seen[u.Host] {
			t.Errorf("%s is like the other", name)
		}
		if parts.Secrets.Redact(token) == token {
			t.Errorf("the token of %s can be seen", name)
		}
		seen[token], seen[u.Host] = true, true
	}
}

// No program starts with an unknown right. A file cannot have one, but a program that makes an
// Expert can.
func TestUnknownRight(t *testing.T) {
	for right, known := range map[expert.WorkspaceRight]bool{
		"": true, expert.WorkspaceWrite: true, expert.WorkspaceRead: true, expert.WorkspaceNone: true, "readonly": false, "all": false,
	} {
		c := (&skillSandbox{sandboxes: &Sandboxes{}, right: right, home: "/h", tmp: "/t"}).policy("/work", nil, 0)
		if err := c.Validate(); (err == nil) != known {
			t.Errorf("%q: %v", right, err)
		}
	}
}

// While a job plans, a sandbox can write to nothing outside of it and reach no host, at every level,
// whatever the user has opened.
func TestPlanningReach(t *testing.T) {
	caches := func() ([]policy.Cache, error) {
		t.Error("caches of the project are used")
		return nil, nil
	}
	n := &namespaces{
		now: time.Now, write: []string{"/git"}, files: func() map[string]string { return nil }, caches: caches,
		search: func(context.Context) (*policy.Protected, error) { return &policy.Protected{}, nil },
	}
	own := t.TempDir()
	usual := Sandboxes{OwnListeners: true, Home: own, Tmp: own, Reach: job.Reach{Read: []string{"/data"}, Write: []string{"/out"}, Domains: []string{"a.example"}, Network: job.NetworkHost, Caches: []string{"go"}}}
	for _, full := range []*namespaces{nil, n} {
		usual.full = full
		c := usual.planning(false)
		for right, want := range map[expert.WorkspaceRight]expert.WorkspaceRight{
			"": expert.WorkspaceRead, expert.WorkspaceWrite: expert.WorkspaceRead, expert.WorkspaceRead: expert.WorkspaceRead, expert.WorkspaceNone: expert.WorkspaceNone,
		} {
			k := &expert.Skill{Name: expert.BaseSkill, BuiltIn: true, Workspace: right, AllowedDomains: []string{"b.example"}}
			b, err := c.newSandbox(k)
			if err != nil {
				t.Fatal(err)
			}
			p := b.policy("/work", nil, 0)
			if full != nil {
				if p, err = b.commands(func(context.Context) (*policy.Policy, error) { return p, nil })(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			opened := slices.DeleteFunc(slices.Clone(p.Write), func(path string) bool { return strings.HasPrefix(path, "/dev/") || isBelow(path, own) })
			if p.Workspace.Right != want || len(opened) > 0 || len(p.Caches) > 0 || !slices.Contains(p.Read, "/out") {
				t.Errorf("%q: %+v", right, p)
			}
			if p.FixedMetadata != (full == nil) {
				t.Errorf("%q: modes and times can be changed: %+v", right, p)
			}
			if p.HostNetwork || p.Listener || len(c.hosts(k)) > 0 {
				t.Errorf("%q: the network can be reached: %+v", right, p)
			}
		}
	}
}

// At level landlock, a program can connect to the port of its listener on any host. While a job plans,
// and for a user who wants no network, there is no such port.
func TestNoPortWithoutANetwork(t *testing.T) {
	base := &expert.Skill{Name: expert.BaseSkill, Type: expert.StdioSkill, BuiltIn: true}
	for _, tt := range []struct {
		network string
		plan    bool
		want    bool
	}{{"", false, true}, {job.NetworkListed, false, true}, {job.NetworkListed, true, false}, {job.NetworkNone, false, false}} {
		sandboxes, remove, err := OnHost(true).MakeDirs(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		sandboxes.Reach.Network = tt.network
		s := (&Site{Parts: testParts(), Sandboxes: sandboxes}).newSet(t.Context(), engine.SkillRequest{Expert: &expert.Expert{Key: "x"}, Plan: tt.plan})
		err = s.openSandboxes([]*expert.Skill{base})
		port, portErr := s.proxyPort(base.Name)
		if err != nil || portErr != nil || (port != 0) != tt.want || (len(s.proxyVariables(base.Name)) > 0) != tt.want {
			t.Errorf("%+v: port %d, %v, %v, %q", tt, port, err, portErr, s.proxyVariables(base.Name))
		}
		if err := errors.Join(s.sandboxes.removeAll(), remove()); err != nil {
			t.Error(err)
		}
	}
}

// While a job plans, no server starts on the machine without a sandbox. One in a container, which can
// change nothing, does, and one elsewhere is left out. Only the coordinator can propose a plan.
func TestPlanningSkills(t *testing.T) {
	local := &expert.Skill{Name: "s", Type: expert.StdioSkill, Command: "false", Workspace: expert.WorkspaceWrite}
	remote := &expert.Skill{Name: "s", Type: expert.SSESkill, Endpoint: "http://127.0.0.1:1"}
	for _, tt := range []struct {
		name      string
		skill     *expert.Skill
		plan      bool
		container *engine.Container
		refused   bool
	}{
		{"a program", local, true, nil, true},
		{"without a plan", local, false, nil, false},
		{"in a container", local, true, &engine.Container{}, false},
		{"elsewhere", remote, true, nil, false},
	} {
		y := newFixture(t)
		y.req.Plan, y.Parts.Container = tt.plan, tt.container
		s := y.newSet(t.Context(), y.req)
		if err := s.server(tt.skill); (err != nil && strings.Contains(err.Error(), "only plans")) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for _, tt := range []struct{ plan, delegated, want bool }{{true, false, true}, {true, true, false}, {false, false, false}} {
		y := newFixture(t)
		y.req.Plan, y.req.Delegated = tt.plan, tt.delegated
		if _, _, ok := y.open(t, &expert.Expert{Key: "e", Name: "e"}).Lookup("proposePlan"); ok != tt.want {
			t.Errorf("%+v: there is the tool: %t", tt, ok)
		}
	}
}
