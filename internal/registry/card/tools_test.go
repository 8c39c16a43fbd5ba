package card

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
)

// A new base tool must be put somewhere, or cards would not show it.
func TestEveryBaseToolIsKnown(t *testing.T) {
	known := slices.Clone(plainTools)
	for _, group := range baseTools {
		known = append(known, group.tools...)
	}
	names := prompt.Names()
	slices.Sort(known)
	slices.Sort(names)
	if diff := cmp.Diff(names, known); diff != "" {
		t.Error(diff)
	}
}

func TestToolAbilities(t *testing.T) {
	for name, c := range map[string]struct {
		rights expert.Skill
		want   []string
	}{
		"all":          {expert.Skill{}, []string{"read files", "change files", "run commands"}},
		"no commands":  {expert.Skill{Omit: []string{"exec"}}, []string{"read files", "change files"}},
		"some":         {expert.Skill{Pick: []string{"readTextFile", "writeTextFile", "think"}}, []string{"readTextFile", "writeTextFile"}},
		"but deleting": {expert.Skill{Omit: []string{"exec", "deleteFile", "deleteDirectory"}}, []string{"read files", "writeTextFile", "appendTextFile", "editTextFile", "moveFile", "createDirectory"}},
		"nothing":      {expert.Skill{Pick: []string{"todo"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, toolAbilities(c.rights)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
