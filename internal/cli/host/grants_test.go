package host

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval/grants"
	"github.com/perstack-go/perstack/rawjson"
)

// An answer about a host is stored, and covers the host from then on: for the same Expert and skill,
// and not for the call that ran.
func TestRememberHost(t *testing.T) {
	file := grants.File{Path: filepath.Join(t.TempDir(), grants.FileName)}
	g := &Grants{files: map[string]grants.File{event.ScopeProject: file}}
	call := event.ToolCall{ID: "c1", SkillName: "web", ToolName: "fetch", Args: rawjson.Value(`{}`)}
	asked := event.ApprovalRequested{Effect: event.Effect{Kind: event.HostEffect, Host: "a.example:443"}, Digest: "d"}
	if err := g.Remember(t.Context(), event.ScopeProject, "job", &event.Approval{Call: call, Experts: []string{"lead", "dev"}, ApprovalRequested: asked}, false); err != nil {
		t.Fatal(err)
	}
	stored, err := file.Load()
	if err != nil || len(stored) != 1 || stored[0].Host != "a.example:443" || stored[0].Args != "" {
		t.Fatalf("stored %+v, %v", stored, err)
	}
	for name, c := range map[string]struct {
		request engine.GrantRequest
		want    bool
	}{
		"the host":        {engine.GrantRequest{Expert: "dev", Call: event.ToolCall{SkillName: "web"}, Host: "a.example:443"}, true},
		"another host":    {engine.GrantRequest{Expert: "dev", Call: call, Host: "b.example:443"}, false},
		"another skill":   {engine.GrantRequest{Expert: "dev", Call: event.ToolCall{SkillName: "far"}, Host: "a.example:443"}, false},
		"the coordinator": {engine.GrantRequest{Expert: "lead", Call: call, Host: "a.example:443"}, false},
		"the call":        {engine.GrantRequest{Expert: "dev", Call: call, Digest: func() string { return "d" }}, false},
	} {
		if _, got := g.Granted(c.request); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// An answer about a directory is stored, and opens this directory to the Expert and the skill. The
// command that asked is no part of it.
func TestRememberDirectory(t *testing.T) {
	file := grants.File{Path: filepath.Join(t.TempDir(), grants.FileName)}
	g := &Grants{files: map[string]grants.File{event.ScopeProject: file}}
	call := event.ToolCall{ID: "c1", SkillName: event.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"git","args":["add","/srv/data/a"]}`)}
	effect := event.Effect{Kind: event.PathEffect, Path: "/srv/data", Named: "/srv/data/a", Argv: []string{"git", "add", "/srv/data/a"}}
	about := &event.Approval{Call: call, Experts: []string{"lead", "dev"}, ApprovalRequested: event.ApprovalRequested{Effect: effect, Digest: "d"}}
	if words, ok := Wider(about); ok {
		t.Errorf("offered for %q", words)
	}
	if err := g.Remember(t.Context(), event.ScopeProject, "job", about, true); err == nil {
		t.Error("it was stored for a command")
	}
	if err := g.Remember(t.Context(), event.ScopeProject, "job", about, false); err != nil {
		t.Fatal(err)
	}
	stored, err := file.Load()
	if err != nil || len(stored) != 1 || stored[0].Path != "/srv/data" || stored[0].Args != "" || stored[0].Command != nil {
		t.Fatalf("stored %+v, %v", stored, err)
	}
	for _, c := range []struct {
		expert, skill string
		want          []string
	}{{"dev", event.BaseSkill, []string{"/srv/data"}}, {"lead", event.BaseSkill, nil}, {"dev", "web", nil}} {
		if got := g.GrantedPaths(c.expert, c.skill); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: %q", c.expert, c.skill, got)
		}
	}
	for path, want := range map[string]bool{"/srv/data": true, "/srv/data/below": false, "/srv": false, "": false} {
		if _, got := g.Granted(engine.GrantRequest{Expert: "dev", Call: call, Path: path, Digest: func() string { return "d" }}); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}
