// Package expert holds what an Expert is: the values that describe it, the grammar of its
// key, what the command of a skill means, and the closure of its delegates.
//
// It holds values and nothing else: it reads no file, starts no process, never dials out
// and imports no other package of this module. Start reading at [Expert]; [ParseKey] holds
// the grammar of names such as @acme/writer@1.2.0.
package expert

// Expert is one agent: what it is told, what it can do and whom it can ask.
type Expert struct {
	Key               string                   `json:"key,omitzero"`  // how it is asked for; equals Name for the Experts of a file
	Name              string                   `json:"name,omitzero"` // writer or @acme/writer
	Version           string                   `json:"version,omitzero"`
	MinRuntimeVersion string                   `json:"minRuntimeVersion,omitzero"`
	Description       string                   `json:"description,omitzero"` // what others read before they delegate to it
	Instruction       string                   `json:"instruction,omitzero"`
	Skills            []*Skill                 `json:"skills,omitzero"`    // in file order; the base skill first if it is implicit
	Delegates         []string                 `json:"delegates,omitzero"` // keys of other Experts
	Tags              []string                 `json:"tags,omitzero"`
	Limits            `json:"limits,omitzero"` // of one Run of this Expert, with all that it delegates to

	// Model and Provider are those of its Runs; zero means those of the job. The Model of a
	// Provider is never empty, unless the provider has no default.
	Model    string    `json:"model,omitzero"`
	Provider *Provider `json:"provider,omitzero"`

	ProviderTools       []string             `json:"providerTools,omitzero"`
	ProviderSkills      []ProviderSkill      `json:"providerSkills,omitzero"`
	ProviderToolOptions *ProviderToolOptions `json:"providerToolOptions,omitzero"` // nil when absent
}

// NamesModel reports whether the Expert has a model or a provider of its own.
func (e *Expert) NamesModel() bool { return e.Provider != nil || e.Model != "" }

// ProviderSkill is a skill that the provider itself runs.
type ProviderSkill struct {
	Type       string `json:"type,omitzero"`       // builtin or custom
	SkillID    string `json:"skillId,omitzero"`    // builtin: pdf, docx, pptx or xlsx
	Name       string `json:"name,omitzero"`       // custom
	Definition string `json:"definition,omitzero"` // custom
}

// ProviderToolOptions tune the tools of the provider. Numbers are 0 when absent.
type ProviderToolOptions struct {
	WebSearch  *WebSearchOptions  `json:"webSearch,omitzero"`
	WebFetch   *WebFetchOptions   `json:"webFetch,omitzero"`
	FileSearch *FileSearchOptions `json:"fileSearch,omitzero"`
}

// WebSearchOptions tune the tool webSearch.
type WebSearchOptions struct {
	MaxUses        int      `json:"maxUses,omitzero"`
	AllowedDomains []string `json:"allowedDomains,omitzero"`
}

// WebFetchOptions tune the tool webFetch.
type WebFetchOptions struct {
	MaxUses int `json:"maxUses,omitzero"`
}

// FileSearchOptions tune the tool fileSearch.
type FileSearchOptions struct {
	VectorStoreIDs []string `json:"vectorStoreIds,omitzero"`
	MaxNumResults  int      `json:"maxNumResults,omitzero"`
}

// Skill finds a skill of the Expert by its name.
func (e *Expert) Skill(name string) (*Skill, bool) {
	for _, s := range e.Skills {
		if s.Name == name {
			return s, true
		}
	}
	return nil, false
}

// Servers are the MCP servers of the Expert: what is started or reached for it, and what
// a lockfile pins. The built-in base skill is part of this program and none of them.
func (e *Expert) Servers() []*Skill {
	var servers []*Skill
	for _, s := range e.Skills {
		if s.Type != InteractiveSkill && !s.BuiltIn {
			servers = append(servers, s)
		}
	}
	return servers
}
