//go:build !linux

package sandbox

import (
	"context"

	"github.com/perstack-go/perstack/internal/sandbox/probe"
)

// Complete has nothing to start: the sandboxes of other systems are not supported.
func Complete(context.Context) []probe.Step {
	return []probe.Step{{Name: probe.Start, Status: probe.Fail, Detail: "start a sandbox", Cause: "this system is not Linux"}}
}
