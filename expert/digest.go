package expert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Digest is the SHA-256, in hex, of what the Expert means. Two files that
// differ only in the order of keys and tables, in layout or in comments give the same digest.
// Any change that a model or a skill could notice gives another, and so does a limit. The
// built-in base skill is left out where the file does not mention it: it belongs to the runtime.
//
// It is made of the JSON of the Expert, so a new field counts unless it is left out here. To
// keep the digests of files that do not use it, its JSON has to be left out when it is zero.
func (e *Expert) Digest() string {
	m := *e
	m.Key, m.Skills = "", nil
	if e.Provider != nil {
		// Only where the provider is counts: other settings can hold a secret, or a path of
		// this machine.
		s := e.Provider.Setting
		m.Provider = &Provider{e.Provider.Name, Setting{BaseURL: s.BaseURL, ResourceName: s.ResourceName, Project: s.Project, Region: s.Region, Location: s.Location}}
	}
	for _, s := range e.Skills {
		if !s.Implicit || !s.BuiltIn {
			m.Skills = append(m.Skills, s.canonical())
		}
	}
	slices.SortFunc(m.Skills, func(a, b *Skill) int { return cmp.Compare(a.Name, b.Name) })
	dropEmpty(&m.Delegates, &m.Tags, &m.ProviderTools)
	return digest(m)
}

// canonical is the skill as its file means it. What has no order is sorted; the case of the
// names of headers means nothing.
func (s *Skill) canonical() *Skill {
	c := *s
	c.Implicit, c.BuiltIn = false, false
	c.Headers, c.Tools = slices.Clone(s.Headers), slices.Clone(s.Tools)
	for i := range c.Headers {
		c.Headers[i].Name = strings.ToLower(c.Headers[i].Name)
	}
	for i := range c.Tools {
		schema := jsontext.Value(slices.Clone(c.Tools[i].InputSchema))
		// Numbers stay as written: rounding them to floats could make two schemas equal that are
		// not. Text that is not JSON stays as it is.
		_ = schema.Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false))
		c.Tools[i].InputSchema = schema
	}
	slices.SortFunc(c.Headers, func(a, b Header) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.Tools, func(a, b InteractiveTool) int { return cmp.Compare(a.Name, b.Name) })
	dropEmpty(&c.Pick, &c.Omit, &c.AllowedDomains, &c.Args, &c.RequiredEnv)
	return &c
}

// dropEmpty makes lists nil that are empty: both say the same.
func dropEmpty(lists ...*[]string) {
	for _, list := range lists {
		if len(*list) == 0 {
			*list = nil
		}
	}
}

// Connection is the SHA-256, in hex, of how the server of an MCP skill is reached. While
// it stays the same, what was found out about the server still holds. Which of its tools
// are offered and how does not count, and neither does the spelling of a command line:
// npx -y name is npx name. Nor does its sandbox: it is the same server, from the same
// package. If it offers other tools there, the run notices.
func (s *Skill) Connection() string {
	c := s.canonical()
	c = &Skill{
		Type: s.Type, Command: s.Command, Args: c.Args, RequiredEnv: slices.Compact(slices.Sorted(slices.Values(s.RequiredEnv))),
		Endpoint: s.Endpoint, Headers: c.Headers, AllowPrivateEndpoint: s.AllowPrivateEndpoint,
	}
	p, ok := s.Package()
	if ok {
		c.Command, c.Args = "", p.Args
	} else if s.PackageName != "" {
		c.Args = []string{s.PackageName} // that is what the program gets
	}
	return digest(c, p)
}

// In the text of a digest, headers have their values, which are as written, so that a secret
// is not in them. The recorded form of a Spec leaves them out.
var digested = json.WithMarshalers(json.JoinMarshalers(
	json.MarshalToFunc(func(out *jsontext.Encoder, h Header) error { return json.MarshalEncode(out, []string{h.Name, h.Value}) }),
	json.MarshalToFunc(func(out *jsontext.Encoder, d time.Duration) error { return out.WriteToken(jsontext.Int(int64(d))) }),
))

// digest is the SHA-256, in hex, of the JSON of canonical values.
func digest(values ...any) string {
	text, err := json.Marshal(values, digested)
	if err != nil {
		panic("expert: plain values do not encode: " + err.Error()) // strings, bools and numbers always do
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
