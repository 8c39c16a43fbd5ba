package definition

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/perstack-go/perstack/expert"
)

// A Fault is why an Expert cannot be published.
type Fault struct {
	Field   string `json:"field"` // such as skills.search.command
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
}

// String is one line.
func (f Fault) String() string {
	text := f.Message
	if f.Field != "" {
		text = f.Field + ": " + text
	}
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}

// Faults are all that were found.
type Faults []Fault

func (all Faults) Error() string {
	lines := make([]string, len(all))
	for i, f := range all {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Err is nil if there are none.
func (all Faults) Err() error {
	if len(all) == 0 {
		return nil
	}
	return all
}

func (all *Faults) add(field, message, hint string) {
	*all = append(*all, Fault{field, message, hint})
}

// FromExpert makes the definition of an Expert of a perstack.toml. What cannot be published is an error of
// type [Faults]: nothing is left out in silence. With an error, the definition has the rest, so that it can
// be checked as well.
func FromExpert(e *expert.Expert) (*Definition, error) {
	var faults Faults
	d := &Definition{
		Schema: Schema, Name: e.Name, Version: e.Version, MinRuntimeVersion: runtimeVersion,
		Description: e.Description, Instruction: e.Instruction, Delegates: e.Delegates,
		Skills: make(map[string]Skill, len(e.Skills)),
		Extensions: Extensions{
			ProviderTools: e.ProviderTools, ProviderSkills: e.ProviderSkills, ProviderToolOptions: e.ProviderToolOptions,
			Model: e.Model, Keywords: e.Tags,
			Limits: Limits{
				MaxSteps: e.MaxSteps, MaxTokens: e.MaxTokens,
				MaxCostMicros: int64(math.Round(e.MaxCost * 1e6)), MaxDurationMS: e.MaxDuration.Milliseconds(),
			},
		},
	}
	if e.MinRuntimeVersion != "" {
		d.Extensions.RuntimeRange = rangePrefix + e.MinRuntimeVersion
	}
	if e.Provider != nil {
		if d.Extensions.Provider = e.Provider.Name; !reflect.ValueOf(e.Provider.Setting).IsZero() {
			faults.add("provider", "has settings, which depend on the machine", "publish the Expert without provider.setting")
		}
	}
	if e.MaxCost > 0 && d.Extensions.Limits.MaxCostMicros == 0 {
		faults.add("maxCost", "is less than a millionth of a dollar", "set a higher limit")
	}
	for _, s := range e.Skills {
		d.addSkill(s, &faults)
	}
	return d, faults.Err()
}

const rangePrefix = ">="

// addSkill adds a skill of the Expert.
func (d *Definition) addSkill(s *expert.Skill, faults *Faults) {
	field := "skills." + s.Name
	published := Skill{
		Type: s.Type, Description: s.Description, Rule: s.Rule,
		Pick: s.Pick, Omit: s.Omit, RequiredEnv: s.RequiredEnv, Endpoint: s.Endpoint,
	}
	if s.Type == expert.StdioSkill {
		published.Command, published.PackageName = publishedPackage(s, field, faults)
	}
	if s.AllowPrivateEndpoint {
		faults.add(field+".allowPrivateEndpoint", "cannot be published", "the server must have a public address")
	}
	for _, t := range s.Tools {
		if published.Tools == nil {
			published.Tools = map[string]Tool{}
		}
		published.Tools[t.Name] = Tool{t.Description, string(t.InputSchema)}
	}
	d.Skills[s.Name] = published
	more := SkillExtensions{
		AllowedDomains: s.AllowedDomains, LazyInit: s.LazyInit, ToolPrefix: s.ToolPrefix,
		StartTimeoutMS: s.StartTimeout.Milliseconds(), CallTimeoutMS: s.CallTimeout.Milliseconds(),
		Sandbox: s.Sandbox, Workspace: s.Workspace,
	}
	for _, h := range s.Headers {
		if more.Headers == nil {
			more.Headers = map[string]string{}
		}
		more.Headers[h.Name] = h.Value
	}
	if !more.isZero() {
		if d.Extensions.Skills == nil {
			d.Extensions.Skills = map[string]SkillExtensions{}
		}
		d.Extensions.Skills[s.Name] = more
	}
}

// publishedPackage is the package that a skill is started from. Arguments have no place in a definition,
// and an Expert without them would be another one.
func publishedPackage(s *expert.Skill, field string, faults *Faults) (command, name string) {
	if s.BuiltIn {
		return "npx", expert.BaseSkill
	}
	if expert.PackageManager(s.Command) == "" {
		faults.add(field+".command", fmt.Sprintf("%q is a program of your machine", s.Command), "published skills are packages, which npx or uvx start")
		return "", ""
	}
	p, ok := s.Package()
	if !ok || len(p.Args) > 0 || p.Program != "" {
		faults.add(field+".args", "only a package can be published, without arguments", "make a package that needs none")
		return "", ""
	}
	return p.Manager, p.Spec()
}

func (x *SkillExtensions) isZero() bool {
	return len(x.AllowedDomains) == 0 && len(x.Headers) == 0 && !x.LazyInit && !x.ToolPrefix &&
		cmp.Or(x.StartTimeoutMS, x.CallTimeoutMS) == 0 && x.Sandbox == "" && x.Workspace == ""
}
