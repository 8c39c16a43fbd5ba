package space

import (
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// A program without a right to the workspace does not see it in a tree of the machine either.
func TestWorkspaceInATree(t *testing.T) {
	for path, want := range map[string]bool{"/opt/app": true, "/opt/a/b": true, "/option/app": false, "/home/ann/app": false, "/tmp/app": false} {
		c := collector{parts: []part{{path: "/opt", isDir: true}, {path: "/home/ann", isDir: true, tree: -1, fs: "tmpfs"}}}
		if err := c.workspace(policy.Workspace{Path: path, Right: expert.WorkspaceNone}); err != nil {
			t.Fatal(err)
		}
		last := c.parts[len(c.parts)-1]
		if covered := last.path == path && last.fs == "tmpfs" && last.flags == readOnly; covered != want || len(c.parts) > 3 {
			t.Errorf("%s: covered is %v, want %v", path, covered, want)
		}
	}
}
