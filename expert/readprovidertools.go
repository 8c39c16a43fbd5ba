package expert

import (
	"slices"
	"strconv"
)

// providerTools are the tools that each provider runs itself.
var providerTools = []struct {
	provider string
	tools    []string
}{
	{"anthropic", []string{"webSearch", "webFetch", "codeExecution"}},
	{"openai", []string{"webSearch", "fileSearch", "codeInterpreter", "imageGeneration"}},
	{"google", []string{"googleSearch", "codeExecution", "urlContext", "fileSearch", "googleMaps"}},
	{"azure-openai", []string{"webSearchPreview", "fileSearch", "codeInterpreter", "imageGeneration"}},
	{"google-vertex", []string{"codeExecution", "urlContext", "googleSearch", "enterpriseWebSearch", "googleMaps"}},
}

// providerFeatures reads the three keys about what the provider does itself.
func (r *reader) providerFeatures(t *table, e *Expert) {
	r.hosted(t, e)
	needsStore := e.ProviderToolOptions == nil || e.ProviderToolOptions.FileSearch == nil || len(e.ProviderToolOptions.FileSearch.VectorStoreIDs) == 0
	if slices.Contains(e.ProviderTools, "fileSearch") && needsStore {
		r.warn(t.n.fields["providerTools"].keyAt, t.at("providerTools"), "fileSearch has nothing to search",
			"set providerToolOptions.fileSearch.vectorStoreIds")
	}
}

// hosted is providerFeatures without a word about what makes no sense.
func (r *reader) hosted(t *table, e *Expert) {
	e.ProviderTools = t.strs("providerTools", 0, providerTool)
	if n := t.want("providerSkills", kindArray); n != nil {
		for i, item := range n.items {
			path := pathTo(t.at("providerSkills"), strconv.Itoa(i))
			if r.is(item, kindTable, path) {
				e.ProviderSkills = append(e.ProviderSkills, r.providerSkill(&table{r: r, n: item, path: path}))
			}
		}
	}
	if o := t.sub("providerToolOptions"); o != nil {
		e.ProviderToolOptions = r.providerToolOptions(o)
	}
}

func providerTool(s string) (string, string) {
	var all []string
	for _, p := range providerTools {
		all = append(all, p.tools...)
	}
	if slices.Contains(all, s) {
		return "", ""
	}
	if n := nearest(s, all); n != "" {
		return "no provider has a tool " + quote(s), "did you mean " + quote(n) + "?"
	}
	return "no provider has a tool " + quote(s), "see docs/perstack-toml.md for the list"
}

func (r *reader) providerSkill(t *table) ProviderSkill {
	s := ProviderSkill{Type: t.require("type", `write type = "builtin" or type = "custom"`, oneOf("builtin", "custom"))}
	switch s.Type {
	case "builtin":
		s.SkillID = t.require("skillId", "use pdf, docx, pptx or xlsx", oneOf("pdf", "docx", "pptx", "xlsx"))
	case "custom":
		s.Name = t.require("name", "give the skill a name", length(1, 255), printable)
		s.Definition = t.require("definition", "say what the skill is", length(1, 20480))
	default:
		t.knows("skillId", "name", "definition")
	}
	t.finish()
	return s
}

func (r *reader) providerToolOptions(t *table) *ProviderToolOptions {
	o := &ProviderToolOptions{}
	if s := t.sub("webSearch"); s != nil {
		o.WebSearch = &WebSearchOptions{MaxUses: s.positive("maxUses"), AllowedDomains: s.strs("allowedDomains", 255, length(1, 2048), printable)}
		s.finish()
	}
	if s := t.sub("webFetch"); s != nil {
		o.WebFetch = &WebFetchOptions{MaxUses: s.positive("maxUses")}
		s.finish()
	}
	if s := t.sub("fileSearch"); s != nil {
		o.FileSearch = &FileSearchOptions{VectorStoreIDs: s.strs("vectorStoreIds", 255, length(1, 255), printable), MaxNumResults: s.positive("maxNumResults")}
		s.finish()
	}
	t.finish()
	return o
}

// positive reads a number above 0; absent, it is 0.
func (t *table) positive(key string) int {
	if n := t.integer(key, 1); n != nil {
		return *n
	}
	return 0
}
