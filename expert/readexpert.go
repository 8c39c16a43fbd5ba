package expert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const maxDelegates = 255

func (r *reader) expert(name string, t *table, c *Config) *Expert {
	r.expertName(name, t)
	r.mark(t.path, t.n)
	e := &Expert{Key: name, Name: name, Version: DefaultVersion}
	if v := t.str("version", version); v != "" {
		e.Version = v
	}
	e.MinRuntimeVersion = t.str("minRuntimeVersion", length(1, maxVersion), printable)
	e.Description = t.str("description", length(1, 2048))
	e.Instruction = t.require("instruction", "tell the expert what to do", length(1, 20480))
	if s := t.sub("skills"); s != nil {
		e.Skills = r.skills(s, c)
	}
	e.Delegates = r.delegateKeys(t, e)
	e.Tags = t.strs("tags", 8, tag)
	e.Limits = t.limits(noLimit)
	r.providerFeatures(t, e)
	t.finish(misplaced)

	if _, declared := e.Skill(BaseSkill); !declared {
		base := implicitBase()
		settleBase(base, c.BaseSkillCommand)
		e.Skills = slices.Insert(e.Skills, 0, base)
	}
	r.toolNames(t, e)
	for _, key := range []string{"minRuntimeVersion", "delegates", "providerTools", "providerSkills", "providerToolOptions"} {
		if n := t.n.fields[key]; n != nil {
			r.mark(t.at(key), n)
		}
	}
	return e
}

// expertName checks the table key, which is key and name at once.
func (r *reader) expertName(name string, t *table) {
	if ValidName(name) {
		return
	}
	hint := "use lower-case letters, digits, - and _, optionally after @scope/"
	lower := strings.ToLower(name)
	if k, err := ParseKey(lower); err == nil && k.Version+k.Tag != "" {
		hint = "write " + quote(k.Name) + " and set version inside the table"
	} else if ValidName(lower) {
		hint = "write " + quote(lower)
	} else if len(name) > maxName {
		hint = fmt.Sprintf("a name has at most %d characters", maxName)
	}
	r.fault(t.n.keyAt, t.path, "is not a valid expert name", hint)
}

func version(s string) (string, string) {
	if ValidVersion(s) {
		return "", ""
	}
	return quote(s) + " is not a version", `write it like "1.0.0"`
}

func tag(s string) (string, string) {
	if len(s) <= maxVersion && tagGrammar().MatchString(s) {
		return "", ""
	}
	return quote(s) + " is not a tag", "use lower-case letters, digits, - and _"
}

// delegateRef is a delegate whose key is well formed, to be looked up when all
// Experts of the file are known.
type delegateRef struct {
	at   int
	path string
	key  Key
}

func (r *reader) delegateKeys(t *table, e *Expert) []string {
	n := t.n.fields["delegates"]
	keys := t.strs("delegates", maxDelegates, func(s string) (string, string) {
		if _, err := ParseKey(s); err != nil {
			message, hint, _ := strings.Cut(err.Error(), "; ")
			return message, hint
		}
		return "", ""
	})
	if keys == nil {
		return nil
	}
	for i, item := range n.first(maxDelegates) {
		k, err := ParseKey(item.text)
		if err != nil || item.kind != kindString {
			continue
		}
		path := pathTo(t.at("delegates"), strconv.Itoa(i))
		if k.Name == e.Name && k.Tag == "" && (k.Version == "" || k.Version == e.Version) {
			r.fault(item.at, path, "an expert cannot delegate to itself", "remove it")
			continue
		}
		r.delegates = append(r.delegates, delegateRef{item.at, path, k})
	}
	return keys
}

// checkDelegates warns about delegates that look like a misspelt Expert of the
// same file. They may exist in the registry, so it is not an error.
func (r *reader) checkDelegates(c *Config) {
	const many = 500 // comparing every pair of a huge file would take long
	if len(c.Experts) > many || len(r.delegates) > many {
		return
	}
	names := make([]string, len(c.Experts))
	for i, e := range c.Experts {
		names[i] = e.Name
	}
	for _, d := range r.delegates {
		if slices.Contains(names, d.key.Name) {
			continue
		}
		if n := nearest(d.key.Name, names); n != "" {
			r.warn(d.at, d.path, "this file has no expert "+quote(d.key.Name), "did you mean "+quote(n)+"?")
		}
	}
}

// toolNames finds two tools that the model would see under one name. Delegates
// show as the last part of their name. Tools of MCP skills are known only when
// the skills run; the toolbox checks those.
func (r *reader) toolNames(t *table, e *Expert) {
	type owner struct{ name, hint string }
	taken := map[string]owner{}
	claim := func(tool, by string, at int, path string) {
		if first, ok := taken[tool]; ok {
			r.fault(at, path, fmt.Sprintf("the tool name %s is already taken by %s", quote(tool), first.name), first.hint)
			return
		}
		taken[tool] = owner{by, "tools of one expert need different names"}
	}
	skills := t.n.fields["skills"]
	if s, ok := e.Skill(BaseSkill); ok && s.BuiltIn && !s.Implicit {
		r.baseToolNames(t, s)
	}
	for _, tool := range BaseTools() { // whether it offers them or not: models trust these names
		taken[tool] = owner{"the base skill", "choose another name"}
	}
	for _, s := range e.Skills {
		for _, tool := range s.Tools {
			n := skills.fields[s.Name].fields["tools"].fields[tool.Name]
			path := pathTo(pathTo(pathTo(t.at("skills"), s.Name), "tools"), tool.Name)
			claim(tool.Name, "skill "+quote(s.Name), n.keyAt, path)
		}
	}
	n := t.n.fields["delegates"]
	if n == nil || n.kind != kindArray {
		return
	}
	for i, item := range n.first(maxDelegates) {
		if k, err := ParseKey(item.text); err == nil && item.kind == kindString {
			claim(k.ToolName(), "delegate "+quote(item.text), item.at, pathTo(t.at("delegates"), strconv.Itoa(i)))
		}
	}
}
