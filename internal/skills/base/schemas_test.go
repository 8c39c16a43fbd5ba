package base

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/testkit"
)

// The schemas in files are those of the Go types into which arguments are decoded.
func TestSchemaFiles(t *testing.T) {
	for name, tool := range tools {
		derived, err := tool.derived()
		if err != nil {
			t.Fatal(err)
		}
		path := "schemas/" + name + ".json"
		if *testkit.Update {
			if err := os.WriteFile(path, append(derived, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		written, err := schemas.ReadFile(path)
		if d := cmp.Diff(string(derived)+"\n", string(written)); err != nil || d != "" {
			t.Errorf("%s: %v; go test -update writes it (-derived +written)\n%s", path, err, d)
		}
	}
	files, err := schemas.ReadDir("schemas")
	if err != nil || len(files) != len(tools) {
		t.Errorf("%d schemas of %d tools, %v", len(files), len(tools), err)
	}
}
