// Package card says what a published Expert can do, so that a person decides about abilities and not
// about prose: packages that are started, servers and hosts that are reached, variables that are read,
// tools, delegates, models and limits.
//
// [Of] makes the card of an Expert and all that it delegates to. [Compare] says what another version can
// do that this one cannot. A card is computed from definitions and never sent by a registry.
package card

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/definition"
)

// A Kind is a kind of abilities.
type Kind string

// The kinds, in the order in which they are shown.
const (
	Package      Kind = "package"      // code that is fetched and started
	Server       Kind = "server"       // a remote server that gets the arguments of calls
	Variable     Kind = "variable"     // of the environment, handed to a skill
	Host         Kind = "host"         // that a skill can reach
	Tool         Kind = "tool"         // of the base skill, or what several of them do
	ProviderTool Kind = "providerTool" // run by the provider of the model
	Question     Kind = "question"     // that the user is asked
	Delegate     Kind = "delegate"
	Model        Kind = "model"
	Isolation    Kind = "isolation"
	Limit        Kind = "limit"
)

var order = []Kind{Package, Server, Variable, Host, Tool, ProviderTool, Question, Delegate, Model, Isolation, Limit}

// An Ability is one thing that an Expert can do. Its text comes from the registry and is not clean.
type Ability struct {
	Kind    Kind     `json:"kind"`
	Text    string   `json:"text"`
	Experts []string `json:"experts"` // names of those that have it
}

// A Card is everything that an Expert can do, with all that it delegates to.
type Card struct {
	Expert    string    `json:"expert"` // exact key
	Abilities []Ability `json:"abilities"`
}

// Of returns the card of the first definition. The others are all that it can reach by delegation.
func Of(closure []*definition.Definition) Card {
	b := &builder{index: map[[2]string]int{}}
	for i, d := range closure {
		if i > 0 {
			b.add(d, Delegate, d.Name)
		}
		b.expert(d)
	}
	slices.SortStableFunc(b.all, func(a, c Ability) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, c.Kind)), strings.Compare(a.Text, c.Text))
	})
	return Card{Expert: closure[0].Key(), Abilities: b.all}
}

// Hash identifies what the Expert can do. Versions and texts do not count.
func (c Card) Hash() string {
	var text strings.Builder
	for _, a := range c.Abilities {
		fmt.Fprintf(&text, "%s %q\n", a.Kind, a.Text)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:])
}

// Compare returns the abilities that only one of two cards has.
func Compare(before, after Card) (gained, lost []Ability) {
	return without(after.Abilities, before.Abilities), without(before.Abilities, after.Abilities)
}

// without returns the abilities of all that others do not have.
func without(all, others []Ability) (rest []Ability) {
	for _, a := range all {
		if !slices.ContainsFunc(others, func(o Ability) bool { return o.Kind == a.Kind && o.Text == a.Text }) {
			rest = append(rest, a)
		}
	}
	return rest
}

// Lines shows abilities, a line for each kind: "packages: npx a, uvx b".
func Lines(abilities []Ability) (lines []string) {
	for _, kind := range order {
		var texts []string
		for _, a := range abilities {
			if a.Kind == kind {
				texts = append(texts, a.Text)
			}
		}
		if len(texts) > 0 {
			lines = append(lines, plurals[kind]+": "+strings.Join(texts, ", "))
		}
	}
	return lines
}

var plurals = map[Kind]string{
	Package: "packages", Server: "servers", Variable: "variables", Host: "hosts", Tool: "tools", ProviderTool: "tools of the provider",
	Question: "questions", Delegate: "delegates", Model: "models", Isolation: "isolation", Limit: "limits",
}

// A builder collects abilities, each once.
type builder struct {
	all   []Ability
	index map[[2]string]int
}

func (b *builder) add(d *definition.Definition, kind Kind, text string) {
	at, ok := b.index[[2]string{string(kind), text}]
	if !ok {
		at = len(b.all)
		b.index[[2]string{string(kind), text}] = at
		b.all = append(b.all, Ability{Kind: kind, Text: text})
	}
	if a := &b.all[at]; !slices.Contains(a.Experts, d.Name) {
		a.Experts = append(a.Experts, d.Name)
	}
}

func (b *builder) expert(d *definition.Definition) {
	for name, s := range d.Skills {
		b.skill(d, name, s, d.Extensions.Skills[name])
	}
	x := d.Extensions
	for _, tool := range x.ProviderTools {
		b.add(d, ProviderTool, tool)
	}
	for _, s := range x.ProviderSkills {
		b.add(d, ProviderTool, cmp.Or(s.SkillID, s.Name))
	}
	if x.Provider != "" || x.Model != "" {
		b.add(d, Model, strings.TrimPrefix(x.Provider+"/"+x.Model, "/"))
	}
	if n := x.Limits.MaxSteps; n > 0 {
		b.add(d, Limit, fmt.Sprintf("%d steps", n))
	}
	if n := x.Limits.MaxTokens; n > 0 {
		b.add(d, Limit, fmt.Sprintf("%d tokens", n))
	}
	if n := x.Limits.MaxCostMicros; n > 0 {
		b.add(d, Limit, fmt.Sprintf("$%d.%06d", n/1e6, n%1e6))
	}
	if n := x.Limits.MaxDurationMS; n > 0 {
		b.add(d, Limit, (time.Duration(n) * time.Millisecond).String())
	}
}

func (b *builder) skill(d *definition.Definition, name string, s definition.Skill, x definition.SkillExtensions) {
	builtIn := s.IsBuiltIn(name)
	switch {
	case builtIn:
		for _, ability := range toolAbilities(expert.Skill{Pick: s.Pick, Omit: s.Omit}) {
			b.add(d, Tool, ability)
		}
	case s.Type == expert.StdioSkill:
		b.add(d, Package, s.Command+" "+s.PackageName)
	case s.Type == expert.InteractiveSkill:
		for tool := range s.Tools {
			b.add(d, Question, tool)
		}
	default:
		b.add(d, Server, address(s.Endpoint))
	}
	for _, variable := range s.RequiredEnv {
		b.add(d, Variable, variable+" for "+name)
	}
	for _, host := range x.AllowedDomains {
		b.add(d, Host, host+" for "+name)
	}
	if s.Type == expert.StdioSkill && !builtIn && len(x.AllowedDomains) == 0 {
		b.add(d, Host, "any host that the sandbox allows, by "+name)
	}
	if x.Workspace != "" {
		b.add(d, Isolation, "workspace "+string(x.Workspace)+" for "+name)
	}
	if x.Sandbox != "" {
		b.add(d, Isolation, "sandbox "+string(x.Sandbox)+" for "+name)
	}
}

// address is where a server is: many servers of one host can belong to many owners. There is one text for
// each address.
func address(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return strings.TrimSuffix(u.String(), "/")
}
