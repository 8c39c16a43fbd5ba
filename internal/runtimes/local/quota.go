package local

import (
	"context"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/quota"
	"github.com/perstack-go/perstack/internal/workspace"
)

// limitSize returns the watch that cancels a run when the workspace takes more bytes than
// it may; nil when there is no limit, so that nothing is measured.
func (r *Runtime) limitSize(files *workspace.Workspace, cancel context.CancelCauseFunc) *quota.Quota {
	if r.MaxWorkspaceBytes <= 0 {
		return nil
	}
	return &quota.Quota{
		Max:     r.MaxWorkspaceBytes,
		Measure: files.Usage,
		Exceeded: func(used int64) {
			cancel(&engine.LimitError{Limit: event.LimitWorkspace, Used: float64(used), Max: float64(r.MaxWorkspaceBytes)})
		},
		Failed: func(err error) { cancel(err) },
	}
}
