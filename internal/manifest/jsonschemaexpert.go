package manifest

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// This file describes Experts and what providers do for them.

func expertSchema() *jsonSchema {
	return closed("An Expert: what it is told and what it may use.", describe(expertKeys, expertDescriptions()), "instruction")
}

func expertDescriptions() map[string]*jsonSchema {
	skills := tablesOf("Skills, by name; they give the Expert its tools.", text("", 1, 255), skillSchema(false))
	skills.Properties = properties{{expert.BaseSkill, skillSchema(true)}}
	skills.MaxProperties = 255
	return map[string]*jsonSchema{
		"version":             pattern("Version of the Expert.", expert.VersionPattern, expert.MaxVersion).or(expert.DefaultVersion),
		"minRuntimeVersion":   text("The oldest perstack that may run it.", 1, expert.MaxVersion),
		"description":         text("What others read before they delegate to it.", 1, 2048),
		"instruction":         text("What the Expert is told.", 1, 20480),
		"skills":              skills,
		"delegates":           array("Keys of the Experts that it may ask.", maxDelegates, pattern("An Expert: name, name@version or name@tag.", expert.KeyPattern, expert.MaxKey)),
		"tags":                array("Words to find it by.", 8, pattern("A word in lower case.", expert.TagPattern, expert.MaxVersion)),
		"maxSteps":            number("Most steps of one Run of it, with all that it delegates to.", 1),
		"maxTokens":           limit("Most tokens of one Run of it, with all that it delegates to.", expert.MostTokens),
		"maxCost":             money("Most US dollars that one Run of it may cost, with all that it delegates to.", expert.MostCost),
		"maxDuration":         duration("How long one Run of it may take, such as 10m."),
		"providerTools":       array("Tools that the provider runs itself.", 0, words("A tool of the provider.", providerToolNames()...)),
		"providerSkills":      array("Skills that the provider runs itself.", 0, providerSkillSchema()),
		"providerToolOptions": providerToolOptionsSchema(),
	}
}

// providerToolNames are those of all providers: --provider may choose another than
// the file, so a tool of another one is no mistake.
func providerToolNames() []string {
	var all [][]string
	for _, provider := range model.Providers() {
		all = append(all, model.ToolsOf(provider))
	}
	return union(all...)
}

func providerSkillSchema() *jsonSchema {
	s := closed("A skill that the provider runs itself.", properties{
		{"type", words("A skill that the provider has, or one that is defined here.", "builtin", "custom")},
		{"skillId", words("Which of the provider's skills.", "pdf", "docx", "pptx", "xlsx")},
		{"name", text("Name of the skill that is defined here.", 1, 255)},
		{"definition", text("What the skill that is defined here is.", 1, 20480)},
	}, "type")
	s.AllOf = []*jsonSchema{
		when("type", "builtin", only(nil, "type", "skillId").and("skillId")),
		when("type", "custom", only(nil, "type", "name", "definition").and("name", "definition")),
	}
	return s
}

// only takes away all keys but these.
func only(more []string, keys ...string) *jsonSchema {
	return &jsonSchema{PropertyNames: &jsonSchema{Enum: union(keys, more)}}
}

// and requires keys.
func (s *jsonSchema) and(keys ...string) *jsonSchema {
	s.Required = append(s.Required, keys...)
	return s
}

func providerToolOptionsSchema() *jsonSchema {
	uses := func() property { return property{"maxUses", number("Most uses in one generation.", 1)} }
	return closed("Options of the tools in providerTools.", properties{
		{"webSearch", closed("Options of webSearch.", properties{
			uses(),
			{"allowedDomains", array("Domains to search.", 255, text("A domain.", 1, 2048))},
		})},
		{"webFetch", closed("Options of webFetch.", properties{uses()})},
		{"fileSearch", closed("Options of fileSearch.", properties{
			{"vectorStoreIds", array("Stores to search; without them there is nothing to find.", 255, text("Id of a vector store.", 1, 255))},
			{"maxNumResults", number("Most results of one search.", 1)},
		})},
	})
}
