package prompt

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
)

// An answer for longer than once says what it allows from then on, without secrets and without what a
// terminal obeys.
func TestRule(t *testing.T) {
	about := func(e event.Effect) *event.Approval {
		return &event.Approval{
			Experts: []string{"lead", "coder"}, Call: event.ToolCall{ToolName: "editTextFile", SkillName: "files"},
			ApprovalRequested: event.ApprovalRequested{Effect: e},
		}
	}
	for _, tt := range []struct {
		effect event.Effect
		offer  Offer
		want   string
	}{
		{event.Effect{Kind: event.CommandEffect, Argv: []string{"git", "push", "a b"}}, Offer{Answer: event.Answer{Scope: event.ScopeJob}}, "rule: until this job ends, coder can run: git push 'a b'"},
		{event.Effect{Kind: event.CommandEffect, Argv: []string{"git", "push"}}, Offer{Words: "git push **", Answer: event.Answer{Scope: event.ScopeProject, Wide: true}}, "rule: in this project, coder can run: git push **"},
		{event.Effect{Kind: event.CommandEffect, Argv: []string{"curl", "s3cret"}}, Offer{Answer: event.Answer{Scope: event.ScopeJob}}, "rule: until this job ends, coder can run: curl [KEY]"},
		{event.Effect{Kind: event.HostEffect, Host: "example.com:443"}, Offer{Answer: event.Answer{Scope: event.ScopeJob}}, "rule: until this job ends, programs of files, called by coder, can connect to: example.com:443"},
		{event.Effect{Kind: event.PathEffect, Path: "/data"}, Offer{Answer: event.Answer{Scope: event.ScopeAlways}}, "rule: in all projects, commands of coder can read: /data"},
		{event.Effect{Kind: event.FileEffect, Path: "a.go"}, Offer{Answer: event.Answer{Scope: event.ScopeJob}}, "rule: until this job ends, coder can call with the same arguments: editTextFile a.go"},
		{event.Effect{Kind: event.CommandEffect, Argv: []string{"ls"}}, Offer{Answer: event.Answer{Scope: event.ScopeOnce}}, ""},
	} {
		q := &question{about: about(tt.effect), redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[KEY]") }}
		if got := q.rule(tt.offer); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	q := &question{about: about(event.Effect{Kind: event.CommandEffect, Argv: []string{"a\x1b[2J\nrule: none\u202e"}})}
	if got := q.rule(Offer{Answer: event.Answer{Scope: event.ScopeJob}}); strings.ContainsAny(got, "\x1b\n\u202e") {
		t.Errorf("%q", got)
	}
}
