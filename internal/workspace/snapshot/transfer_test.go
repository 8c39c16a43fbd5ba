package snapshot

import (
	"fmt"
	"strings"
	"testing"
)

// A few objects that describe very many files, or very deep directories, are refused: comparing them
// would not end.
func TestLargeTrees(t *testing.T) {
	for name, c := range map[string]struct {
		copies, levels int
		want           string
	}{
		"each directory twice": {2, 60, "more than 1000000 files and directories"},
		"deep":                 {1, 400, "more than 300 levels"},
		"usual":                {2, 10, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r := s.Receive()
			defer r.Discard()
			var entries []Entry
			var top ID
			for range c.levels {
				content := encodeTree(entries)
				top = identify(treeKind, content)
				if err := r.Add(Object{top, treeKind}, content); err != nil {
					t.Fatal(err)
				}
				entries = nil
				for i := range c.copies {
					entries = append(entries, Entry{Name: fmt.Sprint(i), Kind: Directory, Mode: 0o755, ID: top})
				}
			}
			err = r.Commit([]ID{top})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
