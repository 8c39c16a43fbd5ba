package job

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
)

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
	FromJob     Origin = "job" // what a resumed job recorded, and no file says any more
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
	Plan     bool    `json:"plan,omitzero"`     // from its start on, the job only plans until the user accepts a plan
	// SandboxOff says that the user turned the sandbox off: calls count as if they had one.
	SandboxOff bool `json:"sandboxOff,omitzero"`
	// TrustHints are skills whose servers are believed when they say that a tool only reads.
	TrustHints []string `json:"trustHints,omitempty"`
	// Timeout is how long a question waits. After that, the answer is no.
	Timeout time.Duration `json:"timeout,omitzero"`
}

// DefaultApprovalTimeout is how long a question waits where nothing else is said.
const DefaultApprovalTimeout = 7 * 24 * time.Hour

// approvals decides about rules. They add up: those of perstack.toml, then those of the user and of
// the machine. Of a recorded job, presets and rules that ask or deny stay, and nothing that allows.
func (r *Resolved) approvals(flags Flags, file, recorded Approvals) {
	user := flags.User.Approvals
	sources := slices.Concat(file.Sources, user.Sources)
	for _, had := range recorded.Sources {
		if kept := had.without(sources); kept.Preset != "" || len(kept.Rules) > 0 {
			sources = append(sources, kept)
		}
	}
	off := r.Isolation.Sandbox == expert.SandboxOff && (r.From("sandbox") == Flag || r.From("sandbox") == User)
	r.Approvals = Approvals{
		Sources:    sources,
		AllowAll:   flags.Approvals.AllowAll,
		Plan:       flags.Approvals.Plan, // a recorded job knows itself whether its plan was accepted
		SandboxOff: off,
		TrustHints: slices.Concat(user.TrustHints, file.TrustHints),
		Timeout:    lower(lower(cmp.Or(user.Timeout, DefaultApprovalTimeout), file.Timeout), recorded.Timeout),
	}
}

// without returns what recorded rules say that none of the sources says, as far as it makes a job
// stricter.
func (s Rules) without(sources []Rules) Rules {
	kept := Rules{Origin: FromJob}
	if s.Preset != PresetAuto && !slices.ContainsFunc(sources, func(now Rules) bool { return now.Preset == s.Preset }) {
		kept.Preset = s.Preset
	}
	for _, rule := range s.Rules {
		same := func(other Rule) bool { return reflect.DeepEqual(rule, other) }
		if rule.Do != Allow && !slices.ContainsFunc(sources, func(now Rules) bool { return slices.ContainsFunc(now.Rules, same) }) {
			kept.Rules = append(kept.Rules, rule)
		}
	}
	return kept
}

// check refuses words that would not count, and so would make a job less strict.
func (a *Approvals) check() error {
	for _, s := range a.Sources {
		if s.Preset != "" && !slices.Contains(Presets(), string(s.Preset)) {
			return fmt.Errorf("job: Spec.Approvals has the preset %q; choose from %q", s.Preset, Presets())
		}
		for i, rule := range s.Rules {
			if !slices.Contains(Verdicts(), string(rule.Do)) {
				return fmt.Errorf("job: Spec.Approvals: rule %d of the %s does %q; choose from %q", i+1, s.Origin, rule.Do, Verdicts())
			}
		}
	}
	if a.Timeout < 0 {
		return fmt.Errorf("job: Spec.Approvals.Timeout is negative; use 0 for the default")
	}
	return nil
}
