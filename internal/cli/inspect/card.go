package inspect

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
)

// A Card is everything that an Expert may do. Its JSON is a promise to programs: fields
// are added, never taken away or given another meaning. Lists are never null.
type Card struct {
	Format  int        `json:"format"` // 1
	Expert  string     `json:"expert"`
	Config  string     `json:"config"`
	Runtime string     `json:"runtime"`
	Docker  *Container `json:"docker,omitzero"` // only with that runtime
	// Programs are absent with another runtime than local, and if the file says nothing about them.
	Programs  *Programs  `json:"sandbox,omitzero"`
	Provider  *Provider  `json:"provider,omitzero"` // of the job; absent if every Expert names a model or provider of its own
	Limits    Limits     `json:"limits"`
	Prices    []Price    `json:"prices"`             // what the file says, by model
	Models    []Model    `json:"models,omitempty"`   // the same, of other things than prices
	ListPrice *ListPrice `json:"listPrice,omitzero"` // what we know that the model costs; absent if the file says it, or if it is not known
	Lock      Lock       `json:"lock"`
	Circles   [][]string `json:"circles"` // keys of Experts that can reach each other, and so themselves
	Experts   []Expert   `json:"experts"` // the Expert first, then all that it can reach
	// Requests are what the files of the project ask for beyond the defaults.
	Requests []consent.Request `json:"requests"`
	Findings []Finding         `json:"findings"` // what deserves a second look
}

// A Provider is who runs the model, and where requests go.
type Provider struct {
	Name    string     `json:"name"`
	Model   string     `json:"model"`
	BaseURL string     `json:"baseUrl,omitzero"` // only if the file names one
	Headers []string   `json:"headers"`          // names
	Keys    []Variable `json:"keys"`             // where its key may come from

	ExtraBody []string               `json:"extraBody,omitempty"` // names of what the file adds to every request
	Resource  string                 `json:"resourceName,omitzero"`
	Project   string                 `json:"project,omitzero"`
	Region    string                 `json:"region,omitzero"`
	Location  string                 `json:"location,omitzero"`
	Guardrail string                 `json:"guardrail,omitzero"`
	Safety    []expert.SafetySetting `json:"safetySettings,omitempty"`

	// KeyOptional says that the provider can be used without a key.
	KeyOptional bool `json:"keyOptional,omitzero"`

	// MayBePrivate says that the base URL may be an address of a private network.
	MayBePrivate bool `json:"allowPrivateEndpoint,omitzero"`
}

// Limits are those of the file, or the defaults, for the whole job.
type Limits struct {
	RunLimits
	MaxToolCalls      int64 `json:"maxToolCalls,omitzero"`
	MaxDepth          int   `json:"maxDepth"`
	MaxParallel       int   `json:"maxParallel"`
	MaxRetries        int   `json:"maxRetries"`
	TimeoutMS         int64 `json:"timeoutMs"`                  // of one generation; 0 is no limit
	MaxWorkspaceBytes int64 `json:"maxWorkspaceBytes,omitzero"` // absent is no limit
}

// A Model is what the file says of one. What is absent it does not say.
type Model struct {
	Model string `json:"model"`
	expert.ModelEntry
}

// A Lock is the state of perstack.lock: fresh, stale, broken or missing.
type Lock struct {
	Path        string   `json:"path"`
	State       string   `json:"state"`
	GeneratedAt int64    `json:"generatedAt,omitzero"` // Unix milliseconds
	Problems    []string `json:"problems"`
}

// The states of a lockfile.
const (
	lockFresh   = "fresh"
	lockStale   = "stale"
	lockBroken  = "broken"
	lockMissing = "missing"
)

// An Expert is one that can act in the run.
type Expert struct {
	Key           string     `json:"key"`
	Version       string     `json:"version"`
	Description   string     `json:"description,omitzero"`
	Provider      *Provider  `json:"provider,omitzero"` // of its Runs, if the file names one for it
	Limits        RunLimits  `json:"limits"`
	Delegates     []Delegate `json:"delegates"`
	ProviderTools []string   `json:"providerTools"` // run by the provider, like the next

	ProviderSkills []ProviderSkill `json:"providerSkills"`
	Skills         []Skill         `json:"skills"`
}

// A ProviderSkill is what the provider runs with code of its own, or of the file.
type ProviderSkill struct {
	Type string `json:"type"` // builtin or custom
	Name string `json:"name"` // the skillId of a builtin one
}

// RunLimits bound one Run of an Expert, with all that it delegates to. What is absent has
// no limit but those of the job.
type RunLimits struct {
	MaxSteps      int     `json:"maxSteps,omitzero"`
	MaxTokens     int64   `json:"maxTokens,omitzero"`
	MaxCost       float64 `json:"maxCost,omitzero"` // US dollars
	MaxDurationMS int64   `json:"maxDurationMs,omitzero"`
}

// A Delegate is an Expert that can be asked. One that is neither in the file nor known as a published
// one is unknown.
type Delegate struct {
	Key    string `json:"key"`
	InFile bool   `json:"inFile"`
	Exact  string `json:"exact,omitzero"` // key of a published Expert that is known
}

// A Skill is what tools come from.
type Skill struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	BuiltIn     bool   `json:"builtIn"` // part of perstack itself
	Description string `json:"description,omitzero"`
	Rule        string `json:"rule,omitzero"`

	Command []string `json:"command,omitempty"` // program and arguments, as declared
	Package *Package `json:"package,omitzero"`  // if a package manager provides the program
	Program *Program `json:"program,omitzero"`  // if files of the workspace are part of it
	Lazy    bool     `json:"lazyInit,omitzero"`

	Endpoint             string   `json:"endpoint,omitzero"` // scheme and host
	Headers              []string `json:"headers,omitempty"` // names
	AllowPrivateEndpoint bool     `json:"allowPrivateEndpoint,omitzero"`

	Env            []Variable `json:"env"`
	AllowedDomains []string   `json:"allowedDomains"` // empty is any host; none in a container or a sandbox

	Sandbox *Sandbox `json:"sandbox,omitzero"` // absent if its processes are not locked in, or it has none

	StartTimeoutMS int64 `json:"startTimeoutMs,omitzero"`
	CallTimeoutMS  int64 `json:"callTimeoutMs,omitzero"`

	ToolPrefix bool   `json:"toolPrefix,omitzero"`
	ToolsKnown bool   `json:"toolsKnown"` // false until perstack install has asked
	Left       int    `json:"toolsLeftOut"`
	Tools      []Tool `json:"tools"` // after pick and omit
}

// A Package is what a package manager fetches.
type Package struct {
	Manager   string `json:"manager"`
	Wanted    string `json:"wanted"`           // as declared
	Pinned    bool   `json:"pinned"`           // by version and integrity
	Version   string `json:"version,omitzero"` // pinned, or the exact one that is declared
	Integrity string `json:"integrity,omitzero"`
}

// A Program is what a skill is started from, as far as it lies in the workspace.
type Program struct {
	Files     []string `json:"files"`            // the program and its scripts, without links
	Dirs      []string `json:"directories"`      // that belong to it
	Manifests []string `json:"manifests"`        // elsewhere, which decide what is started, as package.json does
	Count     int      `json:"count"`            // of all files that are compared before a start
	Pinned    bool     `json:"pinned"`           // by the lockfile, and the same now
	Changed   string   `json:"changed,omitzero"` // what differs from the lockfile
}

// A Variable of the environment, never with its value.
type Variable struct {
	Name string `json:"name"`
	Set  bool   `json:"set"`
	File string `json:"file,omitzero"` // the env file that sets it, relative to the working directory if below it; absent for the environment
}

// A Tool is offered to the model.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Digest      string `json:"digest,omitzero"` // of the whole definition, for MCP skills
}

// A Finding is worth a second look. Severity is warning or note.
type Finding struct {
	Severity string `json:"severity"`
	Kind     string `json:"kind,omitzero"` // hiddenText, providerKey, otherProvider or commandNotPinned; absent for all others
	Expert   string `json:"expert,omitzero"`
	Skill    string `json:"skill,omitzero"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitzero"`
}
