package manifest

import (
	"math"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// hostedKeys are the keys of an Expert about what the provider does itself.
func hostedKeys() []key[expert.Expert] {
	type E = expert.Expert
	tools := list(0, "A tool of the provider.", matching("", 0, "", providerTool))
	tools.schema.Items.Enum = providerToolNames()
	return []key[E]{
		row("providerTools", "Tools that the provider runs.", tools, func(e *E, all []string) { e.ProviderTools = all }).without("none"),
		custom("providerSkills", "Skills that the provider runs.", "list", func() *jsonSchema { return &jsonSchema{Type: "array", Items: providerSkillSchema()} }, func(r *reader, t *toml.Table, e *E) {
			t.EachItem("providerSkills", 0, func(entry *toml.Table) {
				var s expert.ProviderSkill
				readVariant(r, entry, providerSkillKeys(), []string{"builtin", "custom"}, &s)
				entry.Finish()
				e.ProviderSkills = append(e.ProviderSkills, s)
			})
		}).without("none"),
		subtable("providerToolOptions", "Options of the tools in providerTools.", optionKeys(), func(e *E) **expert.ProviderToolOptions { return &e.ProviderToolOptions }),
	}
}

var hostedRows = sync.OnceValue(hostedKeys)

// ReadProviderFeatures reads what the provider does itself for an Expert, which
// perstack.lock repeats as perstack.toml has it.
func ReadProviderFeatures(t *toml.Table, e *expert.Expert) {
	readKeys(&reader{Reader: t.Reader}, t, hostedRows(), e)
}

// checkProviderFeatures warns about what makes no sense.
func (r *reader) checkProviderFeatures(t *toml.Table, e *expert.Expert) {
	needsStore := e.ProviderToolOptions == nil || e.ProviderToolOptions.FileSearch == nil || len(e.ProviderToolOptions.FileSearch.VectorStoreIDs) == 0
	if slices.Contains(e.ProviderTools, "fileSearch") && needsStore {
		r.Warn(t.Node.Fields["providerTools"].KeyAt, t.At("providerTools"), "fileSearch has nothing to search",
			"set providerToolOptions.fileSearch.vectorStoreIds")
	}
}

// providerToolNames are those of all providers: --provider may choose another than
// the file, so a tool of another one is no mistake.
func providerToolNames() (all []string) {
	for _, provider := range model.AllProviders() {
		for _, tool := range provider.Tools {
			if !slices.Contains(all, tool) {
				all = append(all, tool)
			}
		}
	}
	return all
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

func providerSkillKeys() []key[expert.ProviderSkill] {
	type S = expert.ProviderSkill
	return []key[S]{
		row("type", "A skill that the provider has, or one that is defined here.", word("builtin", "custom"), func(s *S, w string) { s.Type = w }).required(`write type = "builtin" or type = "custom"`),
		row("skillId", "Which of the provider's skills.", word("pdf", "docx", "pptx", "xlsx"), func(s *S, w string) { s.SkillID = w }).of("builtin").required("use pdf, docx, pptx or xlsx"),
		row("name", "Name of the skill that is defined here.", text(1, 255, toml.Printable), func(s *S, w string) { s.Name = w }).of("custom").required("give the skill a name"),
		row("definition", "What the skill that is defined here is.", text(1, 20480), func(s *S, w string) { s.Definition = w }).of("custom").required("say what the skill is"),
	}
}

func providerSkillSchema() *jsonSchema {
	keys := providerSkillKeys()
	s := schemaOf("A skill that the provider runs.", keys)
	for _, kind := range []string{"builtin", "custom"} {
		s.AllOf = append(s.AllOf, when("type", kind, ofKindOnly(keys, kind)))
	}
	return s
}

func optionKeys() []key[expert.ProviderToolOptions] {
	type (
		O = expert.ProviderToolOptions
		W = expert.WebSearchOptions
		F = expert.FileSearchOptions
	)
	const uses = "Maximum uses in one generation."
	count := between(1, math.MaxInt32, "")
	return []key[O]{
		subtable("webSearch", "Options of webSearch.", []key[W]{
			row("maxUses", uses, count, func(w *W, n int64) { w.MaxUses = int(n) }),
			row("allowedDomains", "Domains to search.", list(255, "A domain.", text(1, 2048, toml.Printable)), func(w *W, all []string) { w.AllowedDomains = all }),
		}, func(o *O) **W { return &o.WebSearch }),
		subtable("webFetch", "Options of webFetch.", []key[expert.WebFetchOptions]{
			row("maxUses", uses, count, func(w *expert.WebFetchOptions, n int64) { w.MaxUses = int(n) }),
		}, func(o *O) **expert.WebFetchOptions { return &o.WebFetch }),
		subtable("fileSearch", "Options of fileSearch.", []key[F]{
			row("vectorStoreIds", "Stores to search; without them there is nothing to find.", list(255, "Id of a vector store.", text(1, 255, toml.Printable)), func(f *F, all []string) { f.VectorStoreIDs = all }),
			row("maxNumResults", "Maximum results of one search.", count, func(f *F, n int64) { f.MaxNumResults = int(n) }),
		}, func(o *O) **F { return &o.FileSearch }),
	}
}
