package docker

import (
	"context"

	"github.com/perstack-go/perstack/engine"
)

// siteSpec says what a job needs on the engine. What is wrong with the workspace shows
// here, before the engine is asked for anything.
func (r *Runtime) siteSpec(ctx context.Context, job engine.Job) (SiteSpec, error) {
	cover, err := CoverWorkspace(ctx, r.Workspace, r.Protected, r.ReadOnly)
	if err != nil {
		return SiteSpec{}, err
	}
	return SiteSpec{
		JobID:     job.ID,
		Workspace: cover.Dir,
		ReadOnly:  r.Limits.ReadOnlyWorkspace,
		Masked:    cover.Masked,
		Frozen:    cover.Frozen,
		Pinned:    cover.Pinned,
		Absent:    cover.Absent,
		UID:       cover.UID,
		GID:       cover.GID,
		Limits:    r.Limits,
		Gates:     r.gates(job),
		Upstream:  r.Upstream,
		Proxy:     r.Limits.Proxy,

		SharedCell: r.SharedCell,
		Ahead:      true, // it waits for its document
		Logger:     r.Log,
	}, nil
}
