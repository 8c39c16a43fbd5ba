package skills

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Git directories outside the workspace stay those of the start. With a right to read only, they
// are shown unless something in them is hidden. The policy is always valid.
func TestProtectGitDirectories(t *testing.T) {
	found := &policy.Protected{
		Hidden: []string{".env", "/git/b/.env", "/git/later/.env"}, Frozen: []string{"/git/a/config", "/git/later/config"}, Pinned: []string{"/git/a/hooks"},
		Write: []string{"/git/a", "/git/b", "/git/later"},
	}
	n := &namespaces{
		write: []string{"/git/a", "/git/b"}, now: time.Now,
		search: func(context.Context) (*policy.Protected, error) { return found, nil },
		files:  func() map[string]string { return map[string]string{"/home/ann/.gitconfig": "[user]\n"} },
	}
	for right, want := range map[expert.WorkspaceRight]struct{ read, write, hidden, frozen []string }{
		expert.WorkspaceWrite: {nil, []string{"/git/a", "/git/b"}, []string{".env", "/git/b/.env"}, []string{"/git/a/config"}},
		expert.WorkspaceRead:  {[]string{"/git/a"}, nil, []string{".env"}, nil},
		expert.WorkspaceNone:  {nil, nil, nil, nil},
	} {
		b := &skillSandbox{sandboxes: &Sandboxes{full: n}, right: right}
		p, err := b.protect(t.Context(), b.fullPolicy("/work", nil))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Read, want.read) || !slices.Equal(p.Write, want.write) || !slices.Equal(p.Hidden, want.hidden) || !slices.Equal(p.Frozen, want.frozen) {
			t.Errorf("%s: %+v", right, p)
		}
		if len(p.Files) != 1 {
			t.Errorf("%s: the small files are %v", right, p.Files)
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
}
