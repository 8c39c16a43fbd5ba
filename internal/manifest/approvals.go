package manifest

import (
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// The bounds of the rules of one file.
const (
	maxRuleText     = 4096      // of one word or pattern
	maxRuleBytes    = 256 << 10 // of all texts together
	maxRuleArgs     = 64
	maxTrustedHints = 100
)

// approvalKeys are the keys about approvals that all files have. Rules of the file can do what the
// verdicts say.
func approvalKeys[T any](verdicts []string, rules func(*T) *job.Rules) []key[T] {
	return []key[T]{
		row("approvals", "What happens to tool calls that no rule matches.", word(job.Presets()...), func(v *T, s string) { rules(v).Preset = job.Preset(s) }).
			or(string(job.PresetAuto)).more("see [presets](approvals.md#presets)"),
		custom("rules", "Which tool calls are allowed, asked about or denied.", "list of tables", func() *jsonSchema {
			return &jsonSchema{Type: "array", MaxItems: approval.MaxRules, Items: schemaOf("A rule about tool calls.", ruleKeys(verdicts))}
		}, func(r *reader, t *toml.Table, v *T) {
			if t.Node.Fields["rules"] != nil {
				rules(v).Rules = r.rules(t, ruleKeys(verdicts))
			}
		}).
			without("none").more("see [rules](approvals.md#rules)"),
	}
}

// rulesOf returns the rules of one file, for keys to fill in.
func rulesOf(a *job.Approvals, origin job.Origin) *job.Rules {
	if len(a.Sources) == 0 {
		a.Sources = []job.Rules{{Origin: origin}}
	}
	return &a.Sources[0]
}

// timeoutKey is the key of how long a question waits.
func timeoutKey[T any](timeout func(*T) *job.Approvals) key[T] {
	return row("approvalTimeout", "How long a question about a tool call waits for its answer.", duration("72h", "leave the key out for 7 days"), func(v *T, d time.Duration) { timeout(v).Timeout = d }).
		without("`\"168h\"`, which is 7 days").more("after that, the call is denied")
}

// ruleKeys are the keys of a table in [[rules]].
func ruleKeys(verdicts []string) []key[job.Rule] {
	type R = job.Rule
	pattern := text(1, maxRuleText, toml.Printable)
	command := text(1, maxRuleText, exampleText)
	command.schema.Pattern = plainCommand
	example := list(approval.MaxExamples, "A command, with blanks between its words.", command)
	return []key[R]{
		row("tool", "Name of the tool.", pattern, func(r *R, s string) { r.Tool = s }).without("all tools").more("`*` stands for any characters"),
		row("skill", "Name of the skill that has the tool.", pattern, func(r *R, s string) { r.Skill = s }).without("all skills"),
		row("expert", "Key of the Expert that calls.", pattern, func(r *R, s string) { r.Expert = s }).without("all Experts"),
		custom("command", "Words of a command that `exec` runs.", "text, or list of words", commandSchema, (*reader).ruleCommand).
			without("all commands").more("`**` stands for any words"),
		row("env", "Variables that a command can set.", list(maxRuleArgs, "Name of a variable.", pattern), func(r *R, all []string) { r.Env = all }).
			without("none").more("for rules that allow a command"),
		row("path", "Path of a file tool, relative to the workspace, or of a directory outside of the sandbox, absolute.", pattern, func(r *R, s string) { r.Path = s }).without("all paths").more("`**` stands for any directories"),
		row("host", "Host of a connection, or host:port.", pattern, func(r *R, s string) { r.Host = s }).without("all hosts"),
		custom("args", "Patterns of arguments of the call, by JSON pointer.", "table", func() *jsonSchema {
			s := tablesOf(&jsonSchema{Type: "string", Pattern: "^/"}, described(pattern.schema, "A pattern of the argument."))
			s.MaxProperties = maxRuleArgs
			return s
		}, (*reader).ruleArgs).without("all arguments"),
		row("do", "What happens to the calls.", word(verdicts...), func(r *R, s string) { r.Do = job.Verdict(s) }).required(`write do = "ask"`),
		row("why", "Reason, which the user and the model are told.", text(1, 1000, toml.Printable), func(r *R, s string) { r.Why = s }).without("none"),
		row("remember", "Whether an earlier answer counts, for rules that ask.", maybe(), func(r *R, b *bool) { r.Remember = b }).without("true"),
		row("match", "Commands that the rule must match.", example, func(r *R, all []string) { r.Match = all }).without("none").more("checked when the file is read"),
		row("notMatch", "Commands that the rule must not match.", example, func(r *R, all []string) { r.NotMatch = all }).without("none"),
	}
}

// commandText refuses a text that cannot be split into words.
func commandText(s string) (message, hint string) {
	if _, err := approval.SplitCommand(s); err != nil {
		return splitHint(err)
	}
	return "", ""
}

// exampleText is commandText for an example, which is no list.
func exampleText(s string) (message, hint string) {
	message, _ = commandText(s)
	return message, "use an example without it"
}

func commandSchema() *jsonSchema {
	words := list(approval.MaxWords, "A word of the command; * stands for any characters.", text(1, maxRuleText, toml.Printable)).schema
	words.Description, words.MinItems = "The words of the command.", 1
	return &jsonSchema{AnyOf: []*jsonSchema{
		{Description: "The words of the command, with blanks between them.", Type: "string", MaxLength: maxRuleText, Pattern: plainCommand},
		words,
	}}
}

// plainCommand matches what [approval.SplitCommand] splits.
const plainCommand = "^\\s*[^\\s$;|&<>()\\\\\"'`][^$;|&<>()\\\\\"'`]*$"

// ruleCommand reads a command, which is a text or a list.
func (r *reader) ruleCommand(t *toml.Table, rule *job.Rule) {
	n := t.Get("command")
	switch {
	case n == nil:
	case n.Kind == toml.KindArray:
		if rule.Command = t.Strs("command", approval.MaxWords, toml.Length(1, maxRuleText), toml.Printable); len(n.Items) == 0 {
			r.Fault(n.At, n.Path(), "is empty", "the first word is the name of a program")
		}
	case n.Kind == toml.KindString:
		if r.Check(n, toml.Length(1, maxRuleText), toml.Printable, commandText) {
			rule.Command, _ = approval.SplitCommand(n.Text)
		}
	default:
		r.Fault(n.At, n.Path(), fmt.Sprintf("must be a string or an array, not %s", n.Kind), `write it like "git push **"`)
	}
}

func (r *reader) ruleArgs(t *toml.Table, rule *job.Rule) {
	args := t.Sub("args")
	if args == nil {
		return
	}
	r.AtMost(args.Node, len(args.Node.Keys), maxRuleArgs, "arguments")
	for _, pointer := range args.Node.Keys {
		n := args.Node.Fields[pointer]
		switch {
		case !strings.HasPrefix(pointer, "/"):
			r.Fault(n.KeyAt, n.Path(), "is not a JSON pointer", `begin it with a slash, like "/repo"`)
		case r.Is(n, toml.KindString) && r.Check(n, toml.Length(1, maxRuleText), toml.Printable):
			if rule.Args == nil {
				rule.Args = make(map[string]string)
			}
			rule.Args[pointer] = n.Text
		}
	}
}

// rules reads the key rules, and tries the examples of each rule.
func (r *reader) rules(t *toml.Table, keys []key[job.Rule]) (all []job.Rule) {
	size := 0
	t.EachItem("rules", approval.MaxRules, func(entry *toml.Table) {
		var rule job.Rule
		before := len(r.Problems)
		readKeys(r, entry, keys, &rule)
		if size += ruleSize(rule); len(r.Problems) == before && size <= maxRuleBytes {
			r.checkRule(entry.Node, rule)
		}
		entry.Finish(r.misplaced)
		all = append(all, rule)
	})
	if size > maxRuleBytes {
		n := t.Node.Fields["rules"]
		r.Fault(n.KeyAt, n.Path(), fmt.Sprintf("the texts of all rules are larger than %d KiB", maxRuleBytes>>10), "use fewer rules, or fewer examples")
	}
	return all
}

// checkRule reports what is wrong with a rule. Examples are tried one by one, for their lines.
func (r *reader) checkRule(n *toml.Node, rule job.Rule) {
	bare := rule
	bare.Match, bare.NotMatch = nil, nil
	if len(rule.Command) == 0 || len(rule.Match)+len(rule.NotMatch) > approval.MaxExamples {
		bare = rule // it cannot have them
	}
	warning, err := approval.Check(bare)
	if err != nil {
		message, hint := splitHint(err)
		r.Fault(n.At, n.Path(), message, hint)
		return
	}
	if warning != "" {
		message, hint, _ := strings.Cut(warning, "; ")
		r.Warn(n.At, n.Path(), message, hint)
	}
	for i := range rule.Match {
		bare.Match = rule.Match[i : i+1]
		r.checkExample(n.Fields["match"].Items[i], bare)
	}
	bare.Match = nil
	for i := range rule.NotMatch {
		bare.NotMatch = rule.NotMatch[i : i+1]
		r.checkExample(n.Fields["notMatch"].Items[i], bare)
	}
}

func (r *reader) checkExample(n *toml.Node, rule job.Rule) {
	if _, err := approval.Check(rule); err != nil {
		r.Fault(n.At, n.Path(), "the rule is wrong: "+err.Error(), "change the rule, or the example")
	}
}

func ruleSize(r job.Rule) int {
	n := len(r.Tool) + len(r.Skill) + len(r.Expert) + len(r.Path) + len(r.Host) + len(r.Why)
	for _, list := range [][]string{r.Command, r.Env, r.Match, r.NotMatch} {
		for _, text := range list {
			n += len(text)
		}
	}
	for pointer, pattern := range r.Args {
		n += len(pointer) + len(pattern)
	}
	return n
}
