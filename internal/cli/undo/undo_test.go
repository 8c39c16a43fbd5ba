package undo

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
		"": {}, "j": {Job: "j"}, "--dry-run": {DryRun: true}, "j --force": {Job: "j", Force: true},
	} {
		got, err := command(line, &host.Host{})
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
	if _, err := command("a b", &host.Host{}); host.ExitCode(err) != host.ExitUsage {
		t.Error(err)
	}
}

// A program that a job runs cannot take runs back.
func TestRefusedInJob(t *testing.T) {
	h := &host.Host{Supervised: func() bool { return true }}
	if _, err := command("", h); host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), "not for programs that a job runs") {
		t.Error(err)
	}
}
