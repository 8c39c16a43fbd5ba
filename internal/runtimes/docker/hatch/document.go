package hatch

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

// Protocol is the version of what passes through the hatch. Both sides are the same
// program as a rule; a base image or a release may bring another.
const Protocol = 1

// A Document is all that a container needs to run a job, in one piece. It holds secrets.
type Document struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"` // of the perstack that wrote it

	Config File  `json:"config"`        // perstack.toml, word for word
	Lock   *File `json:"lock,omitzero"` // perstack.lock

	Records int64 `json:"records,omitzero"` // lines of the history that follow

	Job      Job      `json:"job"`
	Thinker  Thinker  `json:"thinker"`
	Work     Work     `json:"work"`
	Confines Confines `json:"confines"`

	Verbose bool `json:"verbose,omitzero"` // send everything that is logged
}

// A File is one of the host's, by the path that it has there.
type File struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// A Job is what is asked of the engine; see [engine.Job].
type Job struct {
	ID     string `json:"id"`
	RunID  string `json:"runId"`  // of the coordinator's Run, as the host has planned it
	Expert string `json:"expert"` // key of the coordinator

	Query    string            `json:"query,omitzero"`
	Continue bool              `json:"continue,omitzero"`
	From     string            `json:"from,omitzero"`
	Answer   *event.ToolAnswer `json:"answer,omitzero"`

	MaxSteps    int                    `json:"maxSteps"`
	MaxTokens   int64                  `json:"maxTokens,omitzero"`
	MaxCost     float64                `json:"maxCost,omitzero"`
	MaxDuration int64                  `json:"maxDuration,omitzero"` // milliseconds, like the next
	MaxDepth    int                    `json:"maxDepth,omitzero"`
	MaxParallel int                    `json:"maxParallel,omitzero"`
	MaxRetries  int                    `json:"maxRetries"`
	Timeout     int64                  `json:"timeout,omitzero"`
	Reasoning   expert.ReasoningBudget `json:"reasoning,omitzero"`
	MaxOutput   int                    `json:"maxOutput,omitzero"`
	Priced      bool                   `json:"priced,omitzero"` // its cost is limited

	Experts       []string     `json:"experts"`
	ContextWindow int          `json:"contextWindow,omitzero"`
	Walls         *event.Walls `json:"walls,omitzero"` // to be recorded; what holds are the Confines
}

// A Thinker is the model that thinks, and what it takes to reach it.
type Thinker struct {
	Provider  string                 `json:"provider"`
	Model     string                 `json:"model"`
	Cassette  string                 `json:"cassette,omitzero"` // path on the host, one of Files
	Reasoning expert.ReasoningBudget `json:"reasoning,omitzero"`
	Variables map[string]Variable    `json:"variables,omitzero"`
	Files     []File                 `json:"files,omitzero"` // credentials, authorities, the cassette
}

// A Variable is one of the user's, with the env file that it comes from.
type Variable struct {
	Value string `json:"value"`
	File  string `json:"file,omitzero"`
}

// Work is where and with what the tools work.
type Work struct {
	Dir      string   `json:"dir"`               // the workspace, in the container
	ReadOnly []string `json:"readOnly,omitzero"` // files in it that no tool may change
	Hidden   []string `json:"hidden,omitzero"`   // paths in it that no tool may reach
	MaxBytes int64    `json:"maxBytes,omitzero"` // how large it may grow
	Env      []string `json:"env,omitzero"`      // harmless variables of commands, "NAME=value"
	OneCall  bool     `json:"oneCall,omitzero"`  // calls of a turn one at a time, for reproducible journals

	// Required are the values of requiredEnv, Handed those of --env, which commands get.
	Required map[string]string `json:"required,omitzero"`
	Handed   map[string]string `json:"handed,omitzero"`
	// Secrets are values by name that must not be seen in what tools and providers say.
	Secrets map[string]string `json:"secrets,omitzero"`
}

// Confines are what stands around the container: the gates of the proxy, and what the
// self-test has to find closed.
type Confines struct {
	// Engine is the address of the engine's own gate, http://user:token@address:port: it
	// leads to the provider and to remote skills. Only the engine knows the token.
	Engine string `json:"engine"`
	// Gates lead where the skills of Experts may go, by [GateName].
	Gates map[string]string `json:"gates,omitzero"`
	// Gateway is the address that the host would have on the container's network.
	Gateway string `json:"gateway"`
	// Masked are paths that must not show what the host has there.
	Masked []string `json:"masked,omitzero"`
	// SharedCell says that the skills are not kept apart from each other.
	SharedCell bool `json:"sharedCell,omitzero"`
	// Packages is the directory of the image that has the packages of skills; empty for none.
	Packages string `json:"packages,omitzero"`
	// Roots is the file of the image with the authorities to be trusted.
	Roots string `json:"roots,omitzero"`
	// Tokenless says that the gates ask for no token (Squid): only cells keep them apart.
	Tokenless bool `json:"tokenless,omitzero"`
	// ReadOnlyWork says that the workspace itself must not be writable.
	ReadOnlyWork bool `json:"readOnlyWork,omitzero"`
}

// GateName names the gate of a skill of an Expert. Commands use that of the base skill.
func GateName(expertKey, skill string) string { return expertKey + " " + skill }
