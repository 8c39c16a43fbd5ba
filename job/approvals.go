package job

// A Verdict is what a rule says about a call.
type Verdict string

// The verdicts, the strictest last.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Verdicts lists them, the strictest last.
func Verdicts() []string { return []string{string(Allow), string(Ask), string(Deny)} }

// A Preset decides about calls that no rule matches.
type Preset string

// The presets. See docs/approvals.md for what each does.
const (
	PresetAuto     Preset = "auto"
	PresetAsk      Preset = "ask"
	PresetNever    Preset = "never"
	PresetReadOnly Preset = "read-only"
)

// Presets lists them.
func Presets() []string {
	return []string{string(PresetAuto), string(PresetAsk), string(PresetNever), string(PresetReadOnly)}
}

// A Rule decides about the calls that it matches. Empty fields match every call; a rule needs at
// least one that is not empty. In texts, * stands for any characters.
type Rule struct {
	Tool    string            `json:"tool,omitzero"`
	Skill   string            `json:"skill,omitzero"`
	Expert  string            `json:"expert,omitzero"`
	Command []string          `json:"command,omitempty"` // of exec: its words. ** stands for any words
	Env     []string          `json:"env,omitempty"`     // variables that a call can set, if the rule allows it
	Path    string            `json:"path,omitzero"`     // of a file tool, relative to the workspace. ** stands for any directories
	Host    string            `json:"host,omitzero"`
	Args    map[string]string `json:"args,omitempty"` // by JSON pointer
	Do      Verdict           `json:"do"`
	Why     string            `json:"why,omitzero"`
	// Remember is false for a rule that asks each time: no earlier answer counts.
	Remember *bool `json:"remember,omitzero"`

	Match    []string `json:"match,omitempty"`    // commands that the rule must match
	NotMatch []string `json:"notMatch,omitempty"` // and those that it must not
}

// An Origin says where rules come from.
type Origin string

// The origins.
const (
	FromProject Origin = "project"
	FromUser    Origin = "user"
	FromSystem  Origin = "system"
)

// Rules are the rules and the preset of one file.
type Rules struct {
	Origin Origin `json:"origin"`
	Preset Preset `json:"preset,omitzero"` // empty if it says nothing
	Rules  []Rule `json:"rules,omitempty"`
}

// Approvals say which tool calls are carried out, which are asked about, and which are refused.
type Approvals struct {
	Sources  []Rules `json:"sources,omitempty"`
	AllowAll bool    `json:"allowAll,omitzero"` // each question is answered with yes
	Plan     bool    `json:"plan,omitzero"`     // the job only plans, until the user accepts the plan
	// SandboxOff says that the user turned the sandbox off: calls count as if they had one.
	SandboxOff bool `json:"sandboxOff,omitzero"`
	// TrustHints are skills whose servers are believed when they say that a tool only reads.
	TrustHints []string `json:"trustHints,omitempty"`
}
