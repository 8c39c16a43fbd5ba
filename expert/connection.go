package expert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// connection is what decides which tools a server has. Like meaning, it is canonical,
// and grows only by fields that are left out when zero.
type connection struct {
	Format               int                `json:"format"`
	Type                 SkillType          `json:"type"`
	Command              string             `json:"command,omitzero"`
	Package              *connectionPackage `json:"package,omitzero"`
	Args                 []string           `json:"args,omitempty"`
	RequiredEnv          []string           `json:"requiredEnv,omitempty"`
	Endpoint             string             `json:"endpoint,omitzero"`
	Headers              []headerMeaning    `json:"headers,omitempty"`
	AllowPrivateEndpoint bool               `json:"allowPrivateEndpoint,omitzero"`
}

type connectionPackage struct {
	Manager string `json:"manager"`
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
	Tag     string `json:"tag,omitzero"`
	Program string `json:"program,omitzero"`
}

type headerMeaning struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Connection is the SHA-256, in hex, of how the server of an MCP skill is reached. While
// it stays the same, what was found out about the server still holds. Which of its tools
// are offered and how does not count, and neither does the spelling of a command line:
// npx -y name is npx name. Nor does the cell of its processes: a server behind a narrower
// wall is the same server, from the same package. If it offers other tools there, the run
// finds that out by itself; to ask for a new lock would teach people to leave cells out.
func (s *Skill) Connection() string {
	c := connection{
		Format: 1, Type: s.Type, Command: s.Command, Args: s.Args,
		RequiredEnv: slices.Compact(slices.Sorted(slices.Values(s.RequiredEnv))),
		Endpoint:    s.Endpoint, Headers: s.headerMeanings(), AllowPrivateEndpoint: s.AllowPrivateEndpoint,
	}
	if p, ok := s.Package(); ok {
		c.Command, c.Args = "", p.Args
		c.Package = &connectionPackage{p.Manager, p.Name, p.Version, p.Tag, p.Program}
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
