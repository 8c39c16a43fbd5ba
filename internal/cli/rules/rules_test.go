package rules

import (
	"context"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// The words of a command can look like flags.
func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want TestOptions
	}{
		"words":  {[]string{"exec", "git", "--json", "push"}, TestOptions{Tool: "exec", Command: []string{"git", "--json", "push"}, Skill: "@perstack/base"}},
		"dashes": {[]string{"--json", "--", "exec", "--", "x"}, TestOptions{Tool: "exec", Command: []string{"--", "x"}, Skill: "@perstack/base", JSON: true}},
		"all": {
			[]string{"--config", "a.toml", "--skill", "s", "--expert", "e", "--path", "p", "--host", "h", "--args", "{}", "--env", "A", "--env", "B", "t"},
			TestOptions{Config: "a.toml", Tool: "t", Command: []string{}, Skill: "s", Expert: "e", Path: "p", To: "h", Args: "{}", Env: []string{"A", "B"}},
		},
	} {
		var got TestOptions
		cmd := newTest(&host.Host{}, func(_ context.Context, o *TestOptions) error {
			got = *o
			return nil
		})
		cmd.SetArgs(c.args)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got.Host = nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A call of another skill counts as a program, whatever its name.
func TestRequest(t *testing.T) {
	for name, c := range map[string]struct {
		opts  TestOptions
		class approval.Class
		host  string
	}{
		"reads":         {TestOptions{Tool: "readTextFile", Skill: "@perstack/base"}, approval.Reads, ""},
		"writes":        {TestOptions{Tool: "deleteFile", Skill: "@perstack/base"}, approval.Writes, ""},
		"command":       {TestOptions{Tool: "exec", Command: []string{"a"}, Skill: "@perstack/base"}, approval.Starts, ""},
		"other skill":   {TestOptions{Tool: "readTextFile", Skill: "web"}, approval.Starts, ""},
		"host":          {TestOptions{To: "a.example", Skill: "@perstack/base"}, approval.Escapes, "a.example:443"},
		"host and port": {TestOptions{To: "a.example:80", Skill: "@perstack/base"}, approval.Escapes, "a.example:80"},
		"IPv6":          {TestOptions{To: "[::1]:80", Skill: "@perstack/base"}, approval.Escapes, "[::1]:80"},
	} {
		q, err := c.opts.request()
		if err != nil || q.Class != c.class || q.Host != c.host {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
	}
}
