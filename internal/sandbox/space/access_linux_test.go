package space

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Landlock opens for writing what the policy does, and nothing else: no program notices while the
// mounts are right.
func TestAccess(t *testing.T) {
	own := slices.Concat([]string{"/tmp", "/dev/shm", "/dev/pts", "/proc"}, landlock.WritableDevices())
	for name, test := range map[string]struct {
		policy policy.Policy
		want   []string
	}{
		"nothing": {want: own},
		"all": {
			policy.Policy{Workspace: policy.Workspace{Path: "/w"}, Read: []string{"/r"}, Write: []string{"/a", "/b"}, Home: "/h", Caches: []policy.Cache{{Path: "/c", Lower: "/l", Upper: "/u"}}},
			slices.Concat(own, []string{"/a", "/b", "/h", "/c", "/w"}),
		},
		"read-only workspace": {policy.Policy{Workspace: policy.Workspace{Path: "/w", Right: expert.WorkspaceRead}}, own},
		"no workspace":        {policy.Policy{Workspace: policy.Workspace{Path: "/w", Right: expert.WorkspaceNone}}, own},
	} {
		got := Access(&test.policy)
		if diff := cmp.Diff(landlock.Access{Read: []string{"/"}, Write: test.want, Terminals: "/dev/pts"}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
