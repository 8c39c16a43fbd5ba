package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/model"
)

// Everything that a user is invited to copy is a file without a problem.
func TestExamplesAreValid(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", FileName))
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d examples, error %v", len(paths), err)
	}
	for _, path := range paths {
		c, ps, err := Load(path)
		if err != nil || len(ps) > 0 {
			t.Errorf("%s: %v %v", path, ps, err)
			continue
		}
		if len(c.Experts) == 0 {
			t.Errorf("%s has no experts", path)
		}
		for _, e := range c.Experts {
			for _, d := range e.Delegates {
				if _, ok := c.Lookup(d); !ok {
					t.Errorf("%s: %s delegates to %s, which is not in the file", path, e.Name, d)
				}
			}
		}
	}
}

// The reference mentions every key and every word that the code knows.
func TestReferenceIsComplete(t *testing.T) {
	data, err := os.ReadFile("../../docs/perstack-toml.md")
	if err != nil {
		t.Fatal(err)
	}
	words := append([]string{"providerName", "setting", "type", "inputJsonSchema", "skillId", "definition", "webSearch", "maxUses", "vectorStoreIds", "maxNumResults"}, model.Providers()...)
	all := allTables
	words = slices.Concat(words, keyNames(all.top()), keyNames(all.expert()), keyNames(all.setting()), keyNames(all.skill()), skillKinds, runtimeNames)
	words = append(words, providerToolNames()...)
	for _, w := range words {
		if !strings.Contains(string(data), "`"+w+"`") {
			t.Errorf("docs/perstack-toml.md does not mention `%s`", w)
		}
	}
}
