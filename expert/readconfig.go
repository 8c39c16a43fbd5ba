package expert

import (
	"fmt"
	"strconv"
	"time"
)

// The keys of each level, for hints about keys that stand at the wrong one. A
// test compares them with what the code below asks for.
var (
	topKeys = []string{
		"provider", "model", "reasoningBudget", "runtime", "maxSteps", "maxTokens", "maxCost", "maxDuration", "maxDepth", "maxParallel",
		"maxRetries", "timeout", "maxWorkspaceBytes", "docker", "prices", "models", "experts",
		"perstackApiBaseUrl", "perstackBaseSkillCommand", "envPath",
	}
	expertKeys = []string{
		"version", "minRuntimeVersion", "description", "instruction", "skills", "delegates", "tags",
		"maxSteps", "maxTokens", "maxCost", "maxDuration",
		"providerTools", "providerSkills", "providerToolOptions",
	}
)

// Runtimes that a file may name.
var runtimeNames = []string{"local", "docker", "claude-code", "cursor", "gemini"}

// config reads the whole tree.
func (r *reader) config(root *node) *Config {
	t := &table{r: r, n: root}
	c := &Config{Provider: r.provider(t)}
	c.Model = t.str("model", length(1, 255), printable)
	c.ReasoningBudget = r.reasoningBudget(t)
	c.Runtime = r.runtime(t)
	c.Limits = t.limits(otherwise(DefaultMaxSteps))
	c.MaxDepth = int(t.bounded("maxDepth", MostDepth, otherwise(DefaultMaxDepth)))
	c.MaxParallel = int(t.bounded("maxParallel", MostParallel, otherwise(DefaultMaxParallel)))
	c.MaxRetries = t.integer("maxRetries", 0)
	if ms := t.integer("timeout", 0); ms != nil {
		d := time.Duration(*ms) * time.Millisecond
		c.Timeout = &d
	}
	c.MaxWorkspaceBytes = t.bytes("maxWorkspaceBytes")
	c.Docker = r.docker(t)
	c.Prices = r.prices(t)
	c.Models = r.models(t)
	experts := t.sub("experts")
	c.APIBaseURL = t.str("perstackApiBaseUrl", registryURL)
	c.BaseSkillCommand = r.baseSkillCommand(t)
	c.EnvPath = t.strs("envPath", 0, length(1, 4096), noNUL)
	t.older = []string{"temperature"}
	if n := root.fields["temperature"]; n != nil {
		r.warn(n.keyAt, "temperature", "is no longer used", "remove it")
	}
	t.finish(func(key string) string { return tableHint(key, root.fields[key]) }, misplaced)

	if experts != nil {
		experts.each(func(name string, entry *table) {
			c.Experts = append(c.Experts, r.expert(name, entry, c))
		})
	}
	r.checkDelegates(c)
	return c
}

// tableHint answers an expert written as [writer] instead of [experts.writer].
func tableHint(key string, n *node) string {
	if n.kind == kindTable && n.fields["instruction"] != nil {
		return "an expert is declared as [" + pathTo("experts", key) + "]"
	}
	return ""
}

func (r *reader) reasoningBudget(t *table) ReasoningBudget {
	n := t.get("reasoningBudget")
	if n == nil || n.unreadable {
		return ""
	}
	text := n.text
	switch n.kind {
	case kindInteger:
		text = strconv.FormatInt(n.number, 10)
	case kindString:
		if _, err := strconv.Atoi(text); err == nil {
			r.fault(n.at, "reasoningBudget", "a number of tokens must be an integer, not a string", "remove the quotes")
			return ""
		}
	default:
		r.fault(n.at, "reasoningBudget", fmt.Sprintf("must be a string or an integer, not %s", n.kind), reasoningHint)
		return ""
	}
	b, err := ParseReasoningBudget(text)
	if err != nil {
		r.fault(n.at, "reasoningBudget", "unknown value "+quote(text), reasoningHint)
	}
	return b
}

func (r *reader) runtime(t *table) string {
	n := t.want("runtime", kindString)
	switch {
	case n == nil:
		return ""
	case n.text == "perstack":
		r.warn(n.at, "runtime", `"perstack" is the older name of the built-in runtime`, `write "local"`)
		return "local"
	case !r.check(n, "runtime", []rule{oneOf(runtimeNames...)}):
		return ""
	}
	r.mark("runtime", n)
	return n.text
}

func (r *reader) baseSkillCommand(t *table) []string {
	const key = "perstackBaseSkillCommand"
	words := t.strs(key, 0, noNUL)
	n := t.n.fields[key]
	if len(words) == 0 {
		return nil
	}
	r.mark(key, n)
	switch {
	case len(words) != len(n.items): // one of them was reported already
	case words[0] == "":
		r.fault(n.items[0].at, pathTo(key, "0"), "is empty", "the first entry is the program to start")
	case r.check(n.items[0], pathTo(key, "0"), []rule{length(1, 4096), command, plainManager}) && packageManager(words[0]) != "":
		r.packageArgs(packageManager(words[0]), words[1:], n, key)
	}
	return words
}
