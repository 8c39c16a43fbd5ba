package local

import (
	"context"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/job"
)

// RunWithoutSandbox is Run on a machine that cannot sandbox programs, for a reason.
func RunWithoutSandbox(ctx context.Context, spec job.Spec, parts engine.Parts, why error) (engine.Result, error) {
	return run(ctx, spec, parts, func() error { return why })
}
