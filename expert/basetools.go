package expert

import (
	"slices"
	"strconv"
)

// baseTools lists the tools of the base skill, in its order. Later are those
// that this version does not offer yet; the part that brings one deletes the mark.
var baseTools = []struct {
	name  string
	later bool
}{
	{name: "attemptCompletion"},
	{name: "think"},
	{name: "todo"},
	{name: "clearTodo"},
	{name: "exec"},
	{name: "getFileInfo", later: true},
	{name: "healthCheck", later: true},
	{name: "readTextFile"},
	{name: "readImageFile", later: true},
	{name: "readPdfFile", later: true},
	{name: "writeTextFile"},
	{name: "appendTextFile", later: true},
	{name: "editTextFile", later: true},
	{name: "moveFile", later: true},
	{name: "deleteFile", later: true},
	{name: "listDirectory"},
	{name: "createDirectory", later: true},
	{name: "deleteDirectory", later: true},
}

// BaseTools are the names that pick and omit of the built-in base skill accept.
func BaseTools() []string {
	names := make([]string, len(baseTools))
	for i, t := range baseTools {
		names[i] = t.name
	}
	return names
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
			path := pathTo(pathTo(pathTo(t.at("skills"), s.Name), key), strconv.Itoa(i))
			at := slices.Index(names, item.text)
			switch {
			case at < 0:
				r.fault(item.at, path, "the base skill has no tool "+quote(item.text), didYouMean(item.text, names))
			case key == "pick" && baseTools[at].later:
				r.warn(item.at, path, quote(item.text)+" is not offered by this version yet", "")
			}
		}
	}
	check("pick", s.Pick)
	check("omit", s.Omit)
}

// offers reports whether pick and omit let a tool through.
func (s *Skill) offers(tool string) bool {
	return !slices.Contains(s.Omit, tool) && (len(s.Pick) == 0 || slices.Contains(s.Pick, tool))
}
