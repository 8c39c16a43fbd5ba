package card

import (
	"slices"

	"github.com/perstack-go/perstack/expert"
)

// baseTools are the base tools by what they let a model do. A reader decides about "change files", not
// about eight names.
var baseTools = []struct {
	ability string
	tools   []string
}{
	{"read files", []string{"readTextFile", "readImageFile", "readPdfFile", "listDirectory", "getFileInfo", "glob", "grep"}},
	{"change files", []string{"writeTextFile", "appendTextFile", "editTextFile", "moveFile", "createDirectory", "deleteFile", "deleteDirectory"}},
	{"run commands", []string{"exec"}},
}

// plainTools reach nothing outside the job, so they are no abilities.
var plainTools = []string{"attemptCompletion", "think", "todo", "clearTodo", "healthCheck"}

// toolAbilities returns what the base skill can do with these rights. Tools are named one by one where the
// Expert has only some of those that do the same.
func toolAbilities(rights expert.Skill) (all []string) {
	for _, group := range baseTools {
		offered := slices.DeleteFunc(slices.Clone(group.tools), func(tool string) bool { return !rights.Offers(tool) })
		if len(offered) == len(group.tools) {
			offered = []string{group.ability}
		}
		all = append(all, offered...)
	}
	return all
}
