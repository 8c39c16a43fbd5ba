package manifest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
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
func (r *reader) config(root *toml.Node) *Config {
	t := r.Table(root, "")
	c := &Config{Provider: r.provider(t)}
	c.Model = t.Str("model", toml.Length(1, 255), toml.Printable)
	c.ReasoningBudget = r.reasoningBudget(t)
	c.Runtime = r.runtime(t)
	c.Limits = readLimits(t, otherwise(expert.DefaultMaxSteps))
	c.MaxDepth = int(readBounded(t, "maxDepth", expert.MostDepth, otherwise(expert.DefaultMaxDepth)))
	c.MaxParallel = int(readBounded(t, "maxParallel", expert.MostParallel, otherwise(expert.DefaultMaxParallel)))
	c.MaxRetries = t.Integer("maxRetries", 0)
	if ms := t.Integer("timeout", 0); ms != nil {
		d := time.Duration(*ms) * time.Millisecond
		c.Timeout = &d
	}
	c.MaxWorkspaceBytes = t.Bytes("maxWorkspaceBytes")
	c.Docker = r.docker(t)
	c.Prices = r.prices(t)
	c.Models = r.models(t)
	experts := t.Sub("experts")
	c.APIBaseURL = t.Str("perstackApiBaseUrl", netaddr.RegistryURL)
	c.BaseSkillCommand = r.baseSkillCommand(t)
	c.EnvPath = t.Strs("envPath", 0, toml.Length(1, 4096), toml.NoNUL)
	t.Older = []string{"temperature"}
	if n := root.Fields["temperature"]; n != nil {
		r.Warn(n.KeyAt, "temperature", "is no longer used", "remove it")
	}
	t.Finish(func(key string) string { return tableHint(key, root.Fields[key]) }, misplaced)

	if experts != nil {
		experts.Each(func(name string, entry *toml.Table) {
			c.Experts = append(c.Experts, r.expert(name, entry, c))
		})
	}
	r.checkDelegates(c)
	return c
}

// tableHint answers an expert written as [writer] instead of [experts.writer].
func tableHint(key string, n *toml.Node) string {
	if n.Kind == toml.KindTable && n.Fields["instruction"] != nil {
		return "an expert is declared as [" + toml.PathTo("experts", key) + "]"
	}
	return ""
}

func (r *reader) reasoningBudget(t *toml.Table) expert.ReasoningBudget {
	const reasoningHint = "use none, minimal, low, medium, high or a number of tokens"
	n := t.Get("reasoningBudget")
	if n == nil || n.Unreadable {
		return ""
	}
	text := n.Text
	switch n.Kind {
	case toml.KindInteger:
		text = strconv.FormatInt(n.Number, 10)
	case toml.KindString:
		if _, err := strconv.Atoi(text); err == nil {
			r.Fault(n.At, "reasoningBudget", "a number of tokens must be an integer, not a string", "remove the quotes")
			return ""
		}
	default:
		r.Fault(n.At, "reasoningBudget", fmt.Sprintf("must be a string or an integer, not %s", n.Kind), reasoningHint)
		return ""
	}
	b, err := expert.ParseReasoningBudget(text)
	if err != nil {
		r.Fault(n.At, "reasoningBudget", "unknown value "+wording.Quote(text), reasoningHint)
	}
	return b
}

func (r *reader) runtime(t *toml.Table) string {
	n := t.Want("runtime", toml.KindString)
	switch {
	case n == nil:
		return ""
	case n.Text == "perstack":
		r.Warn(n.At, "runtime", `"perstack" is the older name of the built-in runtime`, `write "local"`)
		return "local"
	case !r.Check(n, "runtime", []toml.Rule{toml.OneOf(runtimeNames...)}):
		return ""
	}
	r.Mark("runtime", n)
	return n.Text
}

func (r *reader) baseSkillCommand(t *toml.Table) []string {
	const key = "perstackBaseSkillCommand"
	words := t.Strs(key, 0, toml.NoNUL)
	n := t.Node.Fields[key]
	if len(words) == 0 {
		return nil
	}
	r.Mark(key, n)
	switch {
	case len(words) != len(n.Items): // one of them was reported already
	case words[0] == "":
		r.Fault(n.Items[0].At, toml.PathTo(key, "0"), "is empty", "the first entry is the program to start")
	case r.Check(n.Items[0], toml.PathTo(key, "0"), []toml.Rule{toml.Length(1, 4096), command, expert.DisguisedManager}) && expert.PackageManager(words[0]) != "":
		r.packageArgs(expert.PackageManager(words[0]), words[1:], n, key)
	}
	return words
}
