package manifest

import (
	"fmt"
	"math"
	"strconv"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// Runtimes that a file may name.
var runtimeNames = []string{"local", "docker", "claude-code", "cursor", "gemini"}

// maxEnvFiles is more than any project has. Each is looked up on the disk.
const maxEnvFiles = 1000

// topKeys are the keys of the top level. Experts come last: reading them needs the others.
func topKeys() []key[Config] {
	type C = Config
	keys := []key[C]{
		custom("provider", "The provider that runs the model.", "table", jobProviderSchema, (*reader).jobProvider).without("`anthropic` without settings").more("see [provider](#provider)"),
		row("model", "Model to use; each provider has its own default.", text(1, 255, toml.Printable), func(c *C, s string) { c.Settings.Model = s }).
			without("that of the [provider](providers.md#models-and-their-defaults): `claude-sonnet-4-5` for anthropic"),
		custom("reasoningBudget", "How much the model may think before it answers.",
			"`\"none\"`, `\"minimal\"`, `\"low\"`, `\"medium\"`, `\"high\"`, or a number of tokens", reasoningSchema, (*reader).reasoningBudget).
			or(string(expert.DefaultReasoningBudget)).more("`0` is none"),
		custom("runtime", "Where runs are executed; local is the built-in runtime.", word(runtimeNames...).form, runtimeSchema, (*reader).runtime).
			or(job.Local),
	}
	keys = append(keys, jobLimits()...)
	keys = append(keys, approvalKeys(job.Verdicts(), func(c *C) *job.Rules { return rulesOf(&c.Settings.Approvals, job.FromProject) })...)
	return append(keys,
		timeoutKey(func(c *C) *job.Approvals { return &c.Settings.Approvals }),
		snapshotsKey(func(c *C) *job.Snapshots { return &c.Settings.Snapshots }),
		custom("docker", "Limits and isolation of the runtime docker.", "table", dockerSchema, (*reader).docker).without("its defaults").more("see [docker](#docker)"),
		custom("sandbox", "Sandboxes of programs with the runtime local.", "table", func() *jsonSchema { return schemaOf("", sandboxKeys()) }, (*reader).sandbox).
			without("its defaults").more("see [sandbox](#sandbox)"),
		custom("prices", "What models cost, by model name; overrides the built-in prices.", "table", func() *jsonSchema {
			return tablesOf(text(1, 255).schema, schemaOf("What a model costs, in US dollars per million tokens.", priceKeys()))
		}, (*reader).prices).
			without("built-in prices").more("see [prices](#prices)"),
		custom("models", "Properties of models, by model name; overrides the built-in ones.", "table", func() *jsonSchema {
			return tablesOf(text(1, 255).schema, schemaOf("Properties of a model; absent ones keep their built-in value.", modelKeys()))
		}, (*reader).models).
			without("built-in properties").more("see [models](#models)"),
		row("perstackApiBaseUrl", "Address of the registry.", matching(secureURL, 0, "https address", netaddr.RegistryURL), func(c *C, s string) { c.APIBaseURL = s }).or(DefaultAPIBaseURL),
		registriesKey(false, func(c *C) *[]Registry { return &c.Registries }),
		custom("perstackBaseSkillCommand", "Program and arguments that replace the built-in base skill.", "list",
			fixed(list(0, "The program, then its arguments.", matching("", 0, "")).schema), (*reader).baseSkillCommand).without("the built-in one"),
		row("envPath", "Env files to read, relative to this file; an empty list reads none.", envPaths(), func(c *C, all []string) { c.EnvPath = all }).
			without("`.env` and `.env.local` of the working directory").more("see [env files](#env-files)"),
		custom("experts", "The Experts of this file, by name.", "table", func() *jsonSchema {
			names := &jsonSchema{Type: "string", Pattern: expert.NamePattern, MaxLength: expert.MaxName}
			return tablesOf(names, schemaOf("An Expert: its instruction and what it may use.", expertKeys()))
		}, (*reader).experts).
			without("none").more("see [experts](#experts)"),
	)
}

// config reads the whole tree.
func (r *reader) config(root *toml.Node) {
	t := r.Table(root)
	t.Older = []string{"temperature"}
	if n := root.Fields["temperature"]; n != nil {
		r.Warn(n.KeyAt, n.Path(), "is no longer used", "remove it")
	}
	readKeys(r, t, r.tables.top(), r.file)
	t.Finish(func(key string) string { return tableHint(key, root.Fields[key]) }, foreignKey(root), r.tables.misplaced)
	r.checkDelegates()
}

// topSchema describes the whole file.
func topSchema() *jsonSchema {
	s := schemaOf("The Experts of a project, their model and what they may use.", topKeys())
	s.Properties = append(s.Properties, property{"temperature", older("No longer used; remove it.")})
	return s
}

// tableHint answers an expert written as [writer] instead of [experts.writer].
func tableHint(key string, n *toml.Node) string {
	if n.Kind == toml.KindTable && n.Fields["instruction"] != nil {
		return "an expert is declared as [" + toml.PathTo("experts", key) + "]"
	}
	return ""
}

func reasoningSchema() *jsonSchema {
	levels, tokens := word(string(expert.ReasoningNone), string(expert.ReasoningMinimal), string(expert.ReasoningLow), string(expert.ReasoningMedium), string(expert.ReasoningHigh)).schema, between(0, math.MaxInt32, "").schema
	levels.Description, tokens.Description = "A named level.", "A number of tokens; 0 is none."
	return &jsonSchema{AnyOf: []*jsonSchema{levels, tokens}}
}

func (r *reader) reasoningBudget(t *toml.Table, c *Config) {
	const hint = "use none, minimal, low, medium, high or a number of tokens"
	n := t.Get("reasoningBudget")
	if n == nil || n.Unreadable {
		return
	}
	text := n.Text
	switch n.Kind {
	case toml.KindInteger:
		text = strconv.FormatInt(n.Number, 10)
	case toml.KindString:
		if _, err := strconv.Atoi(text); err == nil {
			r.Fault(n.At, n.Path(), "a number of tokens must be an integer, not a string", "remove the quotes")
			return
		}
	default:
		r.Fault(n.At, n.Path(), fmt.Sprintf("must be a string or an integer, not %s", n.Kind), hint)
		return
	}
	var err error
	if c.Settings.Reasoning, err = expert.ParseReasoningBudget(text); err != nil {
		r.Fault(n.At, n.Path(), "unknown value "+wording.Quote(text), hint)
	}
}

func runtimeSchema() *jsonSchema {
	words, old := word(runtimeNames...).schema, older("The older name of local.")
	words.Description, old.Const = "A runtime.", "perstack"
	return &jsonSchema{AnyOf: []*jsonSchema{words, old}}
}

func (r *reader) runtime(t *toml.Table, c *Config) {
	n := t.Want("runtime", toml.KindString)
	switch {
	case n == nil:
	case n.Text == "perstack":
		r.Warn(n.At, n.Path(), `"perstack" is the older name of the built-in runtime`, `write "local"`)
		c.Settings.Runtime = "local"
	case r.Check(n, toml.OneOf(runtimeNames...)):
		c.Settings.Runtime = n.Text
	}
}

func (r *reader) baseSkillCommand(t *toml.Table, c *Config) {
	const key = "perstackBaseSkillCommand"
	words := t.Strs(key, 0, toml.NoNUL)
	n := t.Node.Fields[key]
	if len(words) == 0 {
		return
	}
	c.BaseSkillCommand = words
	switch {
	case len(words) != len(n.Items): // one of them was reported already
	case words[0] == "":
		r.Fault(n.Items[0].At, n.Items[0].Path(), "is empty", "the first entry is the program to start")
	case r.Check(n.Items[0], toml.Length(1, 4096), command, expert.DisguisedManager) && expert.PackageManager(words[0]) != "":
		r.packageArgs(expert.PackageManager(words[0]), words[1:], n)
	}
}
