package restore

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/cli/host"
)

func command(line string, h *host.Host) (got Options, err error) {
	cmd := New(h, func(_ context.Context, o *Options) error {
		got = *o
		got.Host = nil
		return nil
	})
	cmd.SetArgs(strings.Fields(line))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return got, cmd.Execute()
}

func TestArguments(t *testing.T) {
	for line, want := range map[string]Options{
		"j cp":                   {Job: "j", Target: "cp", Paths: []string{}},
		"j s12 a b --force":      {Job: "j", Target: "s12", Paths: []string{"a", "b"}, Force: true},
		"j cp --exact --dry-run": {Job: "j", Target: "cp", Paths: []string{}, Exact: true, DryRun: true},
		"j cp --keep-git":        {Job: "j", Target: "cp", Paths: []string{}, KeepGit: true},
		"j --abort":              {Job: "j", Abort: true},
	} {
		got, err := command(line, &host.Host{})
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
	for _, line := range []string{"", "j", "j cp --abort", "--abort", "j --abort --exact"} {
		if _, err := command(line, &host.Host{}); host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// A program that a job runs cannot bring files back.
func TestRefusedInJob(t *testing.T) {
	h := &host.Host{Supervised: func() bool { return true }}
	if _, err := command("j cp", h); host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), "not for programs that a job runs") {
		t.Error(err)
	}
}
