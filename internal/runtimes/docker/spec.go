package docker

import (
	"context"
)

// siteSpec says what a job needs on the engine. What is wrong with the workspace shows
// here, before the engine is asked for anything.
func (r *runner) siteSpec(ctx context.Context) (SiteSpec, error) {
	cover, err := CoverWorkspace(ctx, r.spec.Workspace.Dir, r.spec.Workspace.Hidden, r.spec.Workspace.ReadOnly)
	if err != nil {
		return SiteSpec{}, err
	}
	return SiteSpec{
		JobID:     r.spec.JobID,
		Workspace: cover.Dir,
		ReadOnly:  r.limits.ReadOnlyWorkspace,
		Masked:    cover.Masked,
		Frozen:    cover.Frozen,
		Pinned:    cover.Pinned,
		Absent:    cover.Absent,
		UID:       cover.UID,
		GID:       cover.GID,
		Limits:    r.limits,
		Gates:     r.gates(),
		Upstream:  r.model.Upstream,
		Proxy:     r.limits.Proxy,

		SharedCell: r.spec.Isolation.SharedSandbox,
		Ahead:      true, // it waits for its document
		Logger:     r.parts.Log,
	}, nil
}
