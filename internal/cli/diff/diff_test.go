package diff

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// The arguments are a job, two checkpoints, and paths after a dash.
func TestArguments(t *testing.T) {
	type args struct {
		Job, From, To string
		Paths         []string
	}
	for line, want := range map[string]args{
		"":             {},
		"j":            {Job: "j"},
		"j a":          {Job: "j", From: "a"},
		"j a b":        {Job: "j", From: "a", To: "b"},
		"-- src":       {Paths: []string{"src"}},
		"j a -- x y":   {Job: "j", From: "a", Paths: []string{"x", "y"}},
		"--stat j --":  {Job: "j", Paths: []string{}},
		"j a b -- -x ": {Job: "j", From: "a", To: "b", Paths: []string{"-x"}},
	} {
		var got args
		cmd := New(&host.Host{}, func(_ context.Context, o *Options) error {
			got = args{o.Job, o.From, o.To, o.Paths}
			return nil
		})
		cmd.SetArgs(strings.Fields(line))
		if err := cmd.Execute(); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
	for _, line := range []string{"j a b c", "--stat --json"} {
		cmd := New(&host.Host{}, func(context.Context, *Options) error { return nil })
		cmd.SetArgs(strings.Fields(line))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.Execute(); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
