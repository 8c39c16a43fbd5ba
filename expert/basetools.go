package expert

import (
	"slices"
	"strconv"
)

// BaseTools are the tools of the base skill, in its order: the names that pick and omit
// of the built-in one accept.
func BaseTools() []string {
	return []string{
		"attemptCompletion",
		"think",
		"todo",
		"clearTodo",
		"exec",
		"getFileInfo",
		"healthCheck",
		"readTextFile",
		"readImageFile",
		"readPdfFile",
		"writeTextFile",
		"appendTextFile",
		"editTextFile",
		"moveFile",
		"deleteFile",
		"listDirectory",
		"createDirectory",
		"deleteDirectory",
	}
}

// baseToolNames checks pick and omit of the built-in base skill, whose tools are
// known without starting it. A name that is not among them is an error and no
// warning: with a typo in omit the Expert would keep what it was to lose.
func (r *reader) baseToolNames(t *table, s *Skill) {
	entry, names := t.n.fields["skills"].fields[s.Name], BaseTools()
	check := func(key string, accepted []string) {
		list := entry.fields[key]
		if list == nil || list.kind != kindArray {
			return
		}
		for i, item := range list.first(maxTools) {
			if item.kind != kindString || !slices.Contains(accepted, item.text) {
				continue // reported already
			}
			if !slices.Contains(names, item.text) {
				path := pathTo(pathTo(pathTo(t.at("skills"), s.Name), key), strconv.Itoa(i))
				r.fault(item.at, path, "the base skill has no tool "+quote(item.text), didYouMean(item.text, names))
			}
		}
	}
	check("pick", s.Pick)
	check("omit", s.Omit)
}
