package manifest

import (
	"slices"
	"strconv"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// providerFeatures reads the three keys about what the provider does itself.
func (r *reader) providerFeatures(t *toml.Table, e *expert.Expert) {
	ReadProviderFeatures(t, e)
	needsStore := e.ProviderToolOptions == nil || e.ProviderToolOptions.FileSearch == nil || len(e.ProviderToolOptions.FileSearch.VectorStoreIDs) == 0
	if slices.Contains(e.ProviderTools, "fileSearch") && needsStore {
		r.Warn(t.Node.Fields["providerTools"].KeyAt, t.At("providerTools"), "fileSearch has nothing to search",
			"set providerToolOptions.fileSearch.vectorStoreIds")
	}
}

// ReadProviderFeatures is providerFeatures without a word about what makes no sense.
func ReadProviderFeatures(t *toml.Table, e *expert.Expert) {
	e.ProviderTools = t.Strs("providerTools", 0, providerTool)
	if n := t.Want("providerSkills", toml.KindArray); n != nil {
		for i, item := range n.Items {
			path := toml.PathTo(t.At("providerSkills"), strconv.Itoa(i))
			if t.Reader.Is(item, toml.KindTable, path) {
				e.ProviderSkills = append(e.ProviderSkills, providerSkill(t.Reader.Table(item, path)))
			}
		}
	}
	if o := t.Sub("providerToolOptions"); o != nil {
		e.ProviderToolOptions = providerToolOptions(o)
	}
}

func providerTool(s string) (string, string) {
	all := providerToolNames()
	if slices.Contains(all, s) {
		return "", ""
	}
	if n := wording.Nearest(s, all); n != "" {
		return "no provider has a tool " + wording.Quote(s), "did you mean " + wording.Quote(n) + "?"
	}
	return "no provider has a tool " + wording.Quote(s), "see docs/perstack-toml.md for the list"
}

func providerSkill(t *toml.Table) expert.ProviderSkill {
	s := expert.ProviderSkill{Type: t.Require("type", `write type = "builtin" or type = "custom"`, toml.OneOf("builtin", "custom"))}
	switch s.Type {
	case "builtin":
		s.SkillID = t.Require("skillId", "use pdf, docx, pptx or xlsx", toml.OneOf("pdf", "docx", "pptx", "xlsx"))
	case "custom":
		s.Name = t.Require("name", "give the skill a name", toml.Length(1, 255), toml.Printable)
		s.Definition = t.Require("definition", "say what the skill is", toml.Length(1, 20480))
	default:
		t.Knows("skillId", "name", "definition")
	}
	t.Finish()
	return s
}

func providerToolOptions(t *toml.Table) *expert.ProviderToolOptions {
	o := &expert.ProviderToolOptions{}
	if s := t.Sub("webSearch"); s != nil {
		o.WebSearch = &expert.WebSearchOptions{MaxUses: readPositive(s, "maxUses"), AllowedDomains: s.Strs("allowedDomains", 255, toml.Length(1, 2048), toml.Printable)}
		s.Finish()
	}
	if s := t.Sub("webFetch"); s != nil {
		o.WebFetch = &expert.WebFetchOptions{MaxUses: readPositive(s, "maxUses")}
		s.Finish()
	}
	if s := t.Sub("fileSearch"); s != nil {
		o.FileSearch = &expert.FileSearchOptions{VectorStoreIDs: s.Strs("vectorStoreIds", 255, toml.Length(1, 255), toml.Printable), MaxNumResults: readPositive(s, "maxNumResults")}
		s.Finish()
	}
	t.Finish()
	return o
}

// positive reads a number above 0; absent, it is 0.
func readPositive(t *toml.Table, key string) int {
	if n := t.Integer(key, 1); n != nil {
		return *n
	}
	return 0
}
