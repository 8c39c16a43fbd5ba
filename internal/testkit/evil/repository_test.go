package evil_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// Every repository can be unpacked, says what it is, and leaves nothing open.
func TestRepositories(t *testing.T) {
	all := evil.Repositories()
	if len(all) < 15 {
		t.Errorf("only %d repositories", len(all))
	}
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			if r.Doc == "" || strings.HasPrefix(r.Doc, "--") {
				t.Errorf("doc %q", r.Doc)
			}
			dir := evil.Repository(t, r.Name, "address", "http://127.0.0.1:9")
			names, err := os.ReadDir(dir)
			if err != nil || len(names) == 0 {
				t.Fatalf("%v, %v", names, err)
			}
			for _, name := range names {
				info, err := os.Lstat(filepath.Join(dir, name.Name()))
				if err != nil {
					t.Fatal(err)
				}
				if !info.Mode().IsRegular() {
					continue
				}
				text, err := os.ReadFile(filepath.Join(dir, name.Name()))
				if err != nil || strings.Contains(string(text), "{{") {
					t.Errorf("%s: %v, %.200q", name.Name(), err, text)
				}
			}
			if left, err := os.ReadDir(filepath.Join(dir, "..", "elsewhere")); err != nil || len(left) != 0 {
				t.Errorf("elsewhere: %v, %v", left, err)
			}
		})
	}
	if err := evil.Unpack(t.TempDir(), "../repositories/git-hooks"); err == nil {
		t.Error("a name became a path")
	}
}
