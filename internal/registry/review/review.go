// Package review decides whether a definition can be published, and what its readers should know. A
// registry calls it before it stores a version, and a client before it sends one, so that a dry run finds
// the same.
//
// [Check] returns what forbids the publication, and [Advise] what deserves a second look. Both say what
// is wrong and what to do about it, for people.
package review

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// Options are what a registry can ask for beyond the usual.
type Options struct {
	Strict bool // packages must have an exact version
}

// Check returns everything that forbids a publication, as an error of type [definition.Faults].
func Check(d *definition.Definition, opts Options) error {
	var faults definition.Faults
	if _, err := d.Expert(); err != nil {
		faults, _ = errors.AsType[definition.Faults](err)
	}
	if size := len(d.Encode()); size > definition.MaxSize {
		faults = append(faults, definition.Fault{Message: fmt.Sprintf("the definition has %d bytes, more than %d", size, definition.MaxSize), Hint: "shorten its texts"})
	}
	if size := len(d.Extensions.Readme); size > maxReadme {
		faults = append(faults, definition.Fault{Field: "extensions.readme", Message: fmt.Sprintf("has %d bytes, more than %d", size, maxReadme), Hint: "shorten it"})
	}
	faults = append(faults, hiddenIn(d)...)
	for field, text := range texts(d) {
		if name := secretIn(text); name != "" {
			faults = append(faults, definition.Fault{Field: field, Message: "has what looks like " + name, Hint: "remove it and replace it where it is used: requiredEnv names a variable instead"})
		}
	}
	for name, s := range d.Skills {
		if opts.Strict && unpinned(name, s) {
			faults = append(faults, definition.Fault{Field: "skills." + name + ".packageName", Message: wording.Quote(s.PackageName) + " has no exact version, which this registry asks for", Hint: "add one, such as @1.0.0"})
		}
	}
	slices.SortFunc(faults, func(a, b definition.Fault) int { return strings.Compare(a.String(), b.String()) })
	return faults.Err()
}

// Hidden returns what in a definition a model reads and a person does not see, as an error of type
// [definition.Faults]. A client calls it for what it is given: a registry could have left the check out.
func Hidden(d *definition.Definition) error { return hiddenIn(d).Err() }

func hiddenIn(d *definition.Definition) (faults definition.Faults) {
	for field, text := range texts(d) {
		if hidden := hiddenText(text); hidden != "" {
			faults = append(faults, definition.Fault{Field: field, Message: "has " + hidden + ", which readers do not see and models do", Hint: "remove it"})
		}
	}
	slices.SortFunc(faults, func(a, b definition.Fault) int { return strings.Compare(a.String(), b.String()) })
	return faults
}

// unpinned reports whether a skill starts whatever is the newest version of a package. The base skill
// without a version is the built-in one.
func unpinned(name string, s definition.Skill) bool {
	if s.Type != expert.StdioSkill || name == expert.BaseSkill && s.PackageName == expert.BaseSkill {
		return false
	}
	key, err := expert.ParseKey(s.PackageName)
	return err == nil && key.Version == ""
}

// maxReadme bounds the text for the page of an Expert, which is laid out for every reader.
const maxReadme = 64 << 10

// texts returns every text of a definition that a model or a person reads, by its field.
func texts(d *definition.Definition) map[string]string {
	all := map[string]string{
		"description": d.Description, "instruction": d.Instruction,
		"extensions.license": d.Extensions.License, "extensions.repository": d.Extensions.Repository, "extensions.readme": d.Extensions.Readme,
	}
	for i, s := range d.Extensions.ProviderSkills {
		all[fmt.Sprintf("extensions.providerSkills.%d", i)] = s.Name + "\n" + s.Definition
	}
	for name, s := range d.Skills {
		field := "skills." + name
		all[field] = name
		all[field+".description"], all[field+".rule"], all[field+".endpoint"] = s.Description, s.Rule, s.Endpoint
		all[field+".pick"], all[field+".omit"] = strings.Join(s.Pick, "\n"), strings.Join(s.Omit, "\n")
		for tool, t := range s.Tools {
			all[field+".tools."+tool] = tool + "\n" + t.Description + "\n" + t.InputJSONSchema
		}
	}
	for name, x := range d.Extensions.Skills {
		for _, header := range slices.Sorted(maps.Keys(x.Headers)) {
			all["extensions.skills."+name+".headers."+header] = header + "\n" + x.Headers[header]
		}
	}
	return all
}

// hiddenText names the first character that draws nothing, reorders text or acts on a terminal.
func hiddenText(text string) string {
	shown := terminal.Reveal(strings.ReplaceAll(text, "\r\n", "\n"))
	if shown == strings.ReplaceAll(text, "\r\n", "\n") {
		return ""
	}
	if _, rest, ok := strings.Cut(shown, "<U+"); ok {
		if number, _, ok := strings.Cut(rest, ">"); ok {
			return "the character U+" + number
		}
	}
	return "a hidden character"
}

// A token is a kind of secrets that can be told by its form.
type token struct{ name, pattern string }

// tokens are those of which scanners of secrets are sure.
var tokens = []token{
	{"a private key", `-----BEGIN [A-Z ]*PRIVATE KEY-----`},
	{"a key of Anthropic", `sk-ant-[A-Za-z0-9_-]{20,}`},
	{"a key of OpenAI", `sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}`},
	{"a key of Google", `AIza[0-9A-Za-z_-]{35}`},
	{"a key of AWS", `(?:AKIA|ASIA)[0-9A-Z]{16}`},
	{"a token of GitHub", `(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50,})`},
	{"a token of GitLab", `glpat-[A-Za-z0-9_-]{20}`},
	{"a token of Slack", `xox[abposr]-[A-Za-z0-9-]{10,}`},
	{"a token of npm", `npm_[A-Za-z0-9]{36}`},
	{"a token of PyPI", `pypi-[A-Za-z0-9_-]{50,}`},
	{"a key of a registry", `psk_[a-z]+_[a-z0-9]{12}_[A-Za-z0-9_-]{43}_[A-Za-z0-9]{6}`},
	{"a key of Stripe", `(?:sk|rk)_live_[A-Za-z0-9]{20,}`},
}

var tokenGrammar = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, t := range tokens {
		all = append(all, regexp.MustCompile(t.pattern))
	}
	return all
})

// secretIn names the kind of secret that a text has; "" if none is found.
func secretIn(text string) string {
	for i, grammar := range tokenGrammar() {
		if grammar.MatchString(text) {
			return tokens[i].name
		}
	}
	return ""
}

// Advise returns what readers of a version should know, in sentences without a full stop. before is the
// version before it; nil if there is none.
func Advise(d, before *definition.Definition) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(d.Skills)) {
		s := d.Skills[name]
		if unpinned(name, s) {
			all = append(all, fmt.Sprintf("skill %s starts %s without an exact version: its code can change", wording.Quote(name), wording.Quote(s.PackageName)))
		}
		for _, variable := range s.RequiredEnv {
			if owner := credential(variable); owner != "" {
				all = append(all, fmt.Sprintf("skill %s asks for %s, %s", wording.Quote(name), variable, owner))
			}
		}
	}
	rights := expert.Skill{Pick: d.Skills[expert.BaseSkill].Pick, Omit: d.Skills[expert.BaseSkill].Omit}
	if rights.Offers(expert.ExecTool) {
		all = append(all, "it can run commands")
	}
	if remoteCode().MatchString(d.Instruction) {
		all = append(all, "its instruction speaks of fetching code and running it")
	}
	if before == nil {
		return all
	}
	gained, _ := card.Compare(card.Of([]*definition.Definition{before}), card.Of([]*definition.Definition{d}))
	for _, a := range gained {
		if a.Kind == card.Variable || a.Kind == card.Host || a.Kind == card.Server {
			all = append(all, fmt.Sprintf("new since %s: %s %s", before.Version, a.Kind, terminal.CleanLine(a.Text)))
		}
	}
	return all
}

// remoteCode finds the usual ways to fetch a program and run it at once.
var remoteCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:curl|wget|iwr|invoke-webrequest)\b[^\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|(?:ba)?sh\s+<\(\s*curl|\bnpx\s+-y?\s*https?://|eval\s+"?\$\(\s*curl`)
})

// credential says whose credential a variable is by its name; "" if it is none that is known.
func credential(variable string) string {
	upper := strings.ToUpper(variable)
	for _, provider := range model.Providers() {
		if slices.Contains(model.KeyEnv(provider), upper) {
			return "the key of provider " + provider
		}
	}
	for _, c := range []struct{ prefix, owner string }{
		{"AWS_", "a credential of AWS"}, {"GOOGLE_", "a credential of Google Cloud"}, {"AZURE_", "a credential of Azure"}, {"GCLOUD_", "a credential of Google Cloud"},
		{"GITHUB_", "a credential of GitHub"}, {"GH_", "a credential of GitHub"}, {"GITLAB_", "a credential of GitLab"}, {"CI_", "a credential of a build"},
		{"NPM_", "a credential of npm"}, {"NODE_AUTH_", "a credential of npm"}, {"PYPI_", "a credential of PyPI"}, {"TWINE_", "a credential of PyPI"},
		{"ACTIONS_", "a credential of a build"}, {"KUBECONFIG", "the way into a cluster"}, {"DOCKER_", "a credential of Docker"}, {"VAULT_", "a credential of Vault"},
	} {
		if strings.HasPrefix(upper, c.prefix) {
			return c.owner
		}
	}
	return ""
}
