package expert

// Expert is one agent: what it is told, what it can do and whom it can ask.
type Expert struct {
	Key               string // how it is asked for; equals Name for the Experts of a file
	Name              string // writer or @acme/writer
	Version           string
	MinRuntimeVersion string
	Description       string // what others read before they delegate to it
	Instruction       string
	Skills            []*Skill // in file order; the base skill first if it is implicit
	Delegates         []string // keys of other Experts
	Tags              []string
	Limits            // of one Run of this Expert, with all that it delegates to

	ProviderTools       []string
	ProviderSkills      []ProviderSkill
	ProviderToolOptions *ProviderToolOptions // nil when absent
}

// ProviderSkill is a skill that the provider itself runs.
type ProviderSkill struct {
	Type       string // builtin or custom
	SkillID    string // builtin: pdf, docx, pptx or xlsx
	Name       string // custom
	Definition string // custom
}

// ProviderToolOptions tune the tools of the provider. Numbers are 0 when absent.
type ProviderToolOptions struct {
	WebSearch  *WebSearchOptions
	WebFetch   *WebFetchOptions
	FileSearch *FileSearchOptions
}

// WebSearchOptions tune the tool webSearch.
type WebSearchOptions struct {
	MaxUses        int
	AllowedDomains []string
}

// WebFetchOptions tune the tool webFetch.
type WebFetchOptions struct {
	MaxUses int
}

// FileSearchOptions tune the tool fileSearch.
type FileSearchOptions struct {
	VectorStoreIDs []string
	MaxNumResults  int
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
