package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

const (
	maxDelegates = 255
	maxSkills    = 255
)

// expertKeys are the keys of [experts.<name>].
func expertKeys() []key[expert.Expert] {
	type E = expert.Expert
	keys := []key[E]{
		row("version", "Version of the Expert.", matching(expert.VersionPattern, expert.MaxVersion, "text like `1.0.0`", version), func(e *E, s string) {
			if s != "" {
				e.Version = s
			}
		}).or(expert.DefaultVersion),
		row("minRuntimeVersion", "Oldest release of perstack that can run it; a build that is not a release only warns.", text(1, expert.MaxVersion, toml.Printable), func(e *E, s string) { e.MinRuntimeVersion = s }).without("any"),
		row("description", "What other Experts read before they delegate to it.", text(1, 2048), func(e *E, s string) { e.Description = s }),
		row("instruction", "The system prompt of the Expert.", text(1, 20480), func(e *E, s string) { e.Instruction = s }).required("tell the expert what to do"),
		row("model", "Model of its Runs.", text(1, 255, toml.Printable), func(e *E, s string) { e.Model = s }).
			without("that of the job, or the default of its own provider").more("see [a model for each Expert](#a-model-for-each-expert)"),
		custom("provider", "Provider of its Runs.", "table", providerSchema, (*reader).expertProvider).without("that of the job").more("the same keys as [provider](#provider)"),
		custom("skills", "Skills of the Expert, by name.", fmt.Sprintf("table of [skills](#skills), at most %d", maxSkills), skillsSchema, (*reader).skills).without("the base skill"),
		custom("delegates", "Keys of the Experts it can delegate to.", fmt.Sprintf("list of at most %d", maxDelegates), fixed(delegateList().schema), (*reader).delegateKeys).without("none"),
		row("tags", "Words for searching.", list(8, "A word in lower case.", matching(expert.TagPattern, expert.MaxVersion, "", tag)), func(e *E, all []string) { e.Tags = all }).without("none"),
	}
	return slices.Concat(keys, expertLimits(), hostedKeys())
}

// expertProvider reads the provider of an Expert, and the default model that belongs to it.
func (r *reader) expertProvider(t *toml.Table, e *expert.Expert) {
	if p := r.provider(t); p.Name != "" {
		e.Provider, e.Model = &p, cmp.Or(e.Model, model.DefaultModel(p.Name))
	}
}

// experts reads [experts].
func (r *reader) experts(top *toml.Table, c *Config) {
	all := top.SubOr("experts", func(n *toml.Node) string {
		table := "experts.<name>"
		if len(n.Items) > 0 && n.Items[0].Fields["name"] != nil && expert.ValidName(n.Items[0].Fields["name"].Text) {
			table = toml.PathTo("experts", n.Items[0].Fields["name"].Text)
		}
		return "each expert is a table of its own: write [" + table + "]"
	})
	if all == nil {
		return
	}
	r.providers = providersIn(c, all.Node)
	all.Each(func(name string, t *toml.Table) {
		r.expertName(name, t)
		e := &expert.Expert{Key: name, Name: name, Version: expert.DefaultVersion}
		readKeys(r, t, r.tables.expert(), e)
		r.checkProviderFeatures(t, e)
		t.Finish(foreignKey(t.Node), r.tables.misplaced)
		if _, declared := e.Skill(expert.BaseSkill); !declared {
			base := implicitBase()
			settleBase(base, c.BaseSkillCommand)
			e.Skills = slices.Insert(e.Skills, 0, base)
		}
		r.toolNames(t, e)
		c.Experts = append(c.Experts, e)
	})
}

// expertName checks the table key, which is key and name at once.
func (r *reader) expertName(name string, t *toml.Table) {
	if expert.ValidName(name) {
		return
	}
	hint := "use lower-case letters, digits, - and _, optionally after @scope/"
	lower := strings.ToLower(name)
	if k, err := expert.ParseKey(lower); err == nil && k.Version+k.Tag != "" {
		hint = "write " + wording.Quote(k.Name) + " and set version inside the table"
	} else if expert.ValidName(lower) {
		hint = "write " + wording.Quote(lower)
	} else if len(name) > expert.MaxName {
		hint = fmt.Sprintf("a name has at most %d characters", expert.MaxName)
	}
	r.Fault(t.Node.KeyAt, t.Node.Path(), "is not a valid expert name", hint)
}

func version(s string) (string, string) {
	if expert.ValidVersion(s) {
		return "", ""
	}
	return wording.Quote(s) + " is not a version", `write it like "1.0.0"`
}

func tag(s string) (string, string) {
	if expert.ValidTag(s) {
		return "", ""
	}
	return wording.Quote(s) + " is not a tag", "use lower-case letters, digits, - and _"
}

func delegateList() value[[]string] {
	return list(maxDelegates, "An Expert: name, name@version or name@tag, or a reference to a container registry: oci://host/repository:tag@sha256:digest.", matching(expert.ReferencePattern, expert.MaxKey, "", func(s string) (string, string) {
		if _, err := expert.ParseReference(s); err != nil {
			return splitHint(err)
		}
		return "", ""
	}))
}

// delegateRef is a delegate whose key is well formed, to be looked up when all
// Experts of the file are known.
type delegateRef struct {
	node *toml.Node
	key  expert.Key
}

// delegateKeys reads the delegates of an Expert. They are looked up later.
func (r *reader) delegateKeys(t *toml.Table, e *expert.Expert) {
	n := t.Node.Fields["delegates"]
	if n == nil {
		return
	}
	if e.Delegates = delegateList().read(t, "delegates"); e.Delegates == nil {
		return
	}
	for _, item := range n.First(maxDelegates) {
		k, err := expert.ParseKey(item.Text)
		if err != nil || item.Kind != toml.KindString {
			continue // or it is in a container registry, and was never meant to be in this file
		}
		if k.Name == e.Name && k.Tag == "" && (k.Version == "" || k.Version == e.Version) {
			r.Fault(item.At, item.Path(), "an expert cannot delegate to itself", "remove it")
			continue
		}
		r.delegates = append(r.delegates, delegateRef{item, k})
	}
}

// checkDelegates finds out which Experts of the file were probably meant by delegates that
// are not in it. They may exist in the registry, so reading the file does not complain.
func (r *reader) checkDelegates() {
	const many = 10_000 // comparing every pair of a huge file would take long
	names := r.file.Keys()
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	unknown := slices.DeleteFunc(r.delegates, func(d delegateRef) bool { return known[d.key.Name] })
	if len(names)*len(unknown) > many {
		return
	}
	broken := r.Problems.Err() != nil // then no one asks later
	r.file.meant = make(map[string]string)
	for _, d := range unknown {
		n := wording.Nearest(d.key.Name, names)
		if n == "" {
			continue
		}
		r.file.meant[d.node.Text] = n
		if broken {
			r.Warn(d.node.At, d.node.Path(), "this file has no expert "+wording.Quote(d.key.Name), "did you mean "+wording.Quote(n)+"?")
		}
	}
}

// toolNames finds two tools that the model would see under one name. Delegates
// have the names of [expert.DelegateTools]. Tools of MCP skills are known only when
// the skills run; the toolbox checks those.
func (r *reader) toolNames(t *toml.Table, e *expert.Expert) {
	type owner struct{ name, hint string }
	taken := map[string]owner{}
	claim := func(tool, by string, n *toml.Node) {
		if first, ok := taken[tool]; ok {
			r.Fault(n.KeyAt, n.Path(), fmt.Sprintf("the tool name %s is already taken by %s", wording.Quote(tool), first.name), first.hint)
			return
		}
		taken[tool] = owner{by, "tools of one expert need different names"}
	}
	skills := t.Node.Fields["skills"]
	if s, ok := e.Skill(expert.BaseSkill); ok && s.BuiltIn && !s.Implicit {
		r.baseToolNames(t, s)
	}
	for _, tool := range prompt.Names() { // whether it offers them or not: models trust these names
		taken[tool] = owner{"the base skill", "choose another name"}
	}
	for _, s := range e.Skills {
		for _, tool := range s.Tools {
			n := skills.Fields[s.Name].Fields["tools"].Fields[tool.Name]
			claim(tool.Name, "skill "+wording.Quote(s.Name), n)
		}
	}
	n := t.Node.Fields["delegates"]
	if n == nil || n.Kind != toml.KindArray {
		return
	}
	items := n.First(maxDelegates)
	keys := make([]string, len(items))
	for i, item := range items {
		if item.Kind == toml.KindString {
			keys[i] = item.Text
		}
	}
	for i, tool := range expert.DelegateTools(keys) {
		if tool != "" {
			claim(tool, "delegate "+wording.Quote(keys[i]), items[i])
		}
	}
}
