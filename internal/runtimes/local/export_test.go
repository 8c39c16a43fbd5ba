package local

import (
	"context"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// RunOn is Run on a machine that offers a level.
func RunOn(ctx context.Context, level expert.SandboxLevel, spec job.Spec, parts engine.Parts) (engine.Result, error) {
	return run(ctx, spec, parts, func(context.Context) Offer { return Offer{Level: level} })
}

// RunWithoutSandbox is Run on a machine that cannot sandbox programs, for a reason.
func RunWithoutSandbox(ctx context.Context, spec job.Spec, parts engine.Parts, why error) (engine.Result, error) {
	return run(ctx, spec, parts, func(context.Context) Offer { return Offer{Level: expert.SandboxOff, Why: why} })
}
