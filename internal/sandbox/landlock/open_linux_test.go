package landlock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A program that can change a tree must not decide where a path of a policy in it leads.
func TestOpenFollowsNoLinksOfPrograms(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"tree/dir/keys", "tree/inner/dir/keys", "other/keys"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"tree/link": "../other", "tree/last": "../other/keys", "tree/inner/link": "../../other", "tree-link": "other", "treelink": "tree", "tree/moved": "inner",
	} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		path       string
		changeable []string
		want       error
	}{
		"no link":                             {"tree/dir/keys", []string{"tree"}, nil},
		"the tree itself":                     {"tree", []string{"tree"}, nil},
		"a link on the way":                   {"tree/link/keys", []string{"tree"}, unix.ELOOP},
		"a link at the end":                   {"tree/last", []string{"tree"}, unix.ELOOP},
		"a link elsewhere":                    {"tree-link/keys", []string{"tree"}, nil},
		"a link above the tree":               {"treelink/dir/keys", []string{"treelink"}, nil},
		"a link in a tree":                    {"tree/inner/link/keys", []string{"tree/inner"}, unix.ELOOP},
		"a link to a tree in another":         {"tree/moved/dir/keys", []string{"tree/moved", "tree"}, unix.ELOOP},
		"a tree in another, which is a link":  {"tree/moved", []string{"tree/moved", "tree"}, unix.ELOOP},
		"a path that does not exist any more": {"tree/gone", []string{"tree"}, unix.ENOENT},
	} {
		t.Run(name, func(t *testing.T) {
			var trees []string
			for _, tree := range test.changeable {
				trees = append(trees, at(tree))
			}
			fd, err := Open(at(test.path), trees, 0)
			if err == nil {
				unix.Close(fd)
			}
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
