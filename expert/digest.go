package expert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// meaning is what a digest covers. Its JSON is canonical: the encoder writes
// fields in the order of the struct, and everything whose order has no meaning
// is sorted first. Changing it changes every digest, so fields are only added,
// and added ones are left out when zero.
type meaning struct {
	Format              int                  `json:"format"`
	Name                string               `json:"name"`
	Version             string               `json:"version"`
	MinRuntimeVersion   string               `json:"minRuntimeVersion,omitzero"`
	Description         string               `json:"description,omitzero"`
	Instruction         string               `json:"instruction"`
	Skills              []skillMeaning       `json:"skills,omitempty"`
	Delegates           []string             `json:"delegates,omitempty"`
	Tags                []string             `json:"tags,omitempty"`
	Model               string               `json:"model,omitzero"`
	Provider            string               `json:"provider,omitzero"`
	Destination         destination          `json:"destination,omitzero"`
	ProviderTools       []string             `json:"providerTools,omitempty"`
	ProviderSkills      []ProviderSkill      `json:"providerSkills,omitempty"`
	ProviderToolOptions *ProviderToolOptions `json:"providerToolOptions,omitzero"`
	MaxSteps            int                  `json:"maxSteps,omitzero"`
	MaxTokens           int64                `json:"maxTokens,omitzero"`
	MaxCost             float64              `json:"maxCost,omitzero"`
	MaxDuration         int64                `json:"maxDuration,omitzero"` // nanoseconds
}

// destination says where the provider of an Expert is. Settings that can hold a secret do not
// count.
type destination struct {
	BaseURL      string `json:"baseUrl,omitzero"`
	ResourceName string `json:"resourceName,omitzero"`
	Project      string `json:"project,omitzero"`
	Region       string `json:"region,omitzero"`
	Location     string `json:"location,omitzero"`
}

type skillMeaning struct {
	Name                 string          `json:"name"`
	Type                 SkillType       `json:"type"`
	Description          string          `json:"description,omitzero"`
	Rule                 string          `json:"rule,omitzero"`
	Pick                 []string        `json:"pick,omitempty"`
	Omit                 []string        `json:"omit,omitempty"`
	AllowedDomains       []string        `json:"allowedDomains,omitempty"`
	Command              string          `json:"command,omitzero"`
	PackageName          string          `json:"packageName,omitzero"`
	Args                 []string        `json:"args,omitempty"`
	RequiredEnv          []string        `json:"requiredEnv,omitempty"`
	LazyInit             bool            `json:"lazyInit,omitzero"`
	Endpoint             string          `json:"endpoint,omitzero"`
	AllowPrivateEndpoint bool            `json:"allowPrivateEndpoint,omitzero"`
	Tools                []toolMeaning   `json:"tools,omitempty"`
	Headers              []headerMeaning `json:"headers,omitempty"`
	ToolPrefix           bool            `json:"toolPrefix,omitzero"`
	StartTimeout         int64           `json:"startTimeout,omitzero"` // milliseconds
	CallTimeout          int64           `json:"callTimeout,omitzero"`  // milliseconds
	Sandbox              SkillSandbox    `json:"sandbox,omitzero"`
	Workspace            WorkspaceRight  `json:"workspace,omitzero"`
}

type toolMeaning struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	InputSchema string `json:"inputSchema"`
}

// Digest is the SHA-256, in hex, of what the Expert means. Two files that
// differ only in the order of keys and tables, in layout or in comments give the same digest.
// Any change that a model or a skill could notice gives another, and so does a limit. The
// built-in base skill is left out where the file does not mention it: it belongs to the runtime.
func (e *Expert) Digest() string {
	m := meaning{
		Format: 1, Name: e.Name, Version: e.Version, MinRuntimeVersion: e.MinRuntimeVersion,
		Description: e.Description, Instruction: e.Instruction,
		Delegates: e.Delegates, Tags: e.Tags, Model: e.Model,
		ProviderTools: e.ProviderTools, ProviderSkills: e.ProviderSkills, ProviderToolOptions: e.ProviderToolOptions,
		MaxSteps: e.MaxSteps, MaxTokens: e.MaxTokens, MaxCost: e.MaxCost, MaxDuration: e.MaxDuration.Nanoseconds(),
	}
	if e.Provider != nil {
		s := e.Provider.Setting
		m.Provider = e.Provider.Name
		m.Destination = destination{s.BaseURL, s.ResourceName, s.Project, s.Region, s.Location}
	}
	for _, s := range e.Skills {
		if !s.Implicit || !s.BuiltIn {
			m.Skills = append(m.Skills, s.meaning())
		}
	}
	slices.SortFunc(m.Skills, func(a, b skillMeaning) int { return cmp.Compare(a.Name, b.Name) })
	return digest(m)
}

func (s *Skill) meaning() skillMeaning {
	m := skillMeaning{
		Name: s.Name, Type: s.Type, Description: s.Description, Rule: s.Rule,
		Pick: s.Pick, Omit: s.Omit, AllowedDomains: s.AllowedDomains,
		Command: s.Command, PackageName: s.PackageName, Args: s.Args,
		RequiredEnv: s.RequiredEnv, LazyInit: s.LazyInit,
		Endpoint: s.Endpoint, AllowPrivateEndpoint: s.AllowPrivateEndpoint,
		Headers: s.headerMeanings(), ToolPrefix: s.ToolPrefix,
		StartTimeout: s.StartTimeout.Milliseconds(), CallTimeout: s.CallTimeout.Milliseconds(),
		Sandbox: s.Sandbox, Workspace: s.Workspace,
	}
	for _, t := range s.Tools {
		m.Tools = append(m.Tools, toolMeaning{t.Name, t.Description, canonicalJSON(t.InputSchema)})
	}
	slices.SortFunc(m.Tools, func(a, b toolMeaning) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

// canonicalJSON removes blanks and sorts members. Numbers stay as written:
// rounding them to floats could make two schemas equal that are not.
func canonicalJSON(text []byte) string {
	v := rawjson.Value(text).Clone()
	if err := (*jsontext.Value)(&v).Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)); err != nil {
		return string(text)
	}
	return string(v)
}

// connection is what decides which tools a server has. Like meaning, it is canonical,
// and grows only by fields that are left out when zero.
type connection struct {
	Format               int             `json:"format"`
	Type                 SkillType       `json:"type"`
	Command              string          `json:"command,omitzero"`
	Package              *Package        `json:"package,omitzero"`
	Args                 []string        `json:"args,omitempty"`
	RequiredEnv          []string        `json:"requiredEnv,omitempty"`
	Endpoint             string          `json:"endpoint,omitzero"`
	Headers              []headerMeaning `json:"headers,omitempty"`
	AllowPrivateEndpoint bool            `json:"allowPrivateEndpoint,omitzero"`
}

type headerMeaning struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Connection is the SHA-256, in hex, of how the server of an MCP skill is reached. While
// it stays the same, what was found out about the server still holds. Which of its tools
// are offered and how does not count, and neither does the spelling of a command line:
// npx -y name is npx name. Nor does its sandbox: it is the same server, from the same
// package. If it offers other tools there, the run notices.
func (s *Skill) Connection() string {
	c := connection{
		Format: 1, Type: s.Type, Command: s.Command, Args: s.Args,
		RequiredEnv: slices.Compact(slices.Sorted(slices.Values(s.RequiredEnv))),
		Endpoint:    s.Endpoint, Headers: s.headerMeanings(), AllowPrivateEndpoint: s.AllowPrivateEndpoint,
	}
	if p, ok := s.Package(); ok {
		c.Command, c.Args = "", p.Args
		c.Package = &p
	} else if s.PackageName != "" {
		c.Args = []string{s.PackageName} // that is what the program gets
	}
	return digest(c)
}

// headerMeanings sorts the headers: their order means nothing, nor does the case of
// their names. Values are as written, so a secret is not in them.
func (s *Skill) headerMeanings() (all []headerMeaning) {
	for _, h := range s.Headers {
		all = append(all, headerMeaning{strings.ToLower(h.Name), h.Value})
	}
	slices.SortFunc(all, func(a, b headerMeaning) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// digest is the SHA-256, in hex, of the JSON of a canonical value.
func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("expert: plain values do not encode: " + err.Error()) // strings, bools and numbers always do
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
