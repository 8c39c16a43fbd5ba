package install

import (
	"context"
	"testing"

	"github.com/perstack-go/perstack/internal/protect"
)

// The lockfile that one command writes is no change by a job that began meanwhile, which can be
// another install.
func TestInstallBesideAnother(t *testing.T) {
	b := newBench(t, "[experts.a]\ninstruction = \"x\"\n[experts.a.skills.files]\ntype = \"mcpStdioSkill\"\ncommand = \"files\"\n")
	history, err := b.host.History("", "", b.host.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var other *protect.Watch
	b.during = func(ctx context.Context, _ string) {
		other, err = protect.Begin(ctx, protect.Options{State: history.Project.State, Workspace: b.host.Dir, Job: "install", Now: b.host.Source.Now()})
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := b.install(t.Context()); err != nil || other == nil {
		t.Fatal(err)
	}
	report, err := other.End(t.Context(), b.host.Source.Now())
	if err != nil || len(report.Marks) > 0 {
		t.Errorf("%v, %v", report.Marks, err)
	}
}
