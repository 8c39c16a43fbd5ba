// Package runtimes says where an Expert runs. Each runtime is a package below this
// one; all take the same job and tell the same events.
package runtimes

import (
	"context"

	"github.com/perstack-go/perstack/engine"
)

// A Runtime runs jobs.
type Runtime interface {
	// Name is what users call it in perstack.toml.
	Name() string
	// Check reports what is missing on this machine, with the fix in the message.
	Check(ctx context.Context) error
	// Run runs a job to its end.
	Run(ctx context.Context, job engine.Job, listener engine.Listener) (engine.Result, error)
}
