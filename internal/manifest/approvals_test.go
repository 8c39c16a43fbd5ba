package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/job"
)

const ruleFile = `approvals = "never"
approvalTimeout = "90m"

[[rules]]
tool = "exec"
skill = "@perstack/base"
expert = "dev*"
command = "git commit **"
env = ["GIT_AUTHOR_DATE"]
do = "allow"
match = ["git commit", "git commit -a"]
notMatch = ["git push"]

[[rules]]
command = ["rm", "**", "/a b", "**"]
path = "src/**"
host = "a.example:443"
args = { "/repo" = "acme/*", "/n/0" = "1" }
do = "ask"
why = "removes"
remember = false

[snapshots]
mode = "required"
maxFileBytes = "1MiB"
maxSnapshotBytes = "2MiB"
maxEntries = 30
maxStoreBytes = "4GiB"
exclude = ["data", "**/*.bin"]
`

// All three files have the same rules, each with its origin.
func TestRules(t *testing.T) {
	rules := []job.Rule{
		{Tool: "exec", Skill: "@perstack/base", Expert: "dev*", Command: []string{"git", "commit", "**"}, Env: []string{"GIT_AUTHOR_DATE"}, Do: job.Allow, Match: []string{"git commit", "git commit -a"}, NotMatch: []string{"git push"}},
		{Command: []string{"rm", "**", "/a b", "**"}, Path: "src/**", Host: "a.example:443", Args: map[string]string{"/repo": "acme/*", "/n/0": "1"}, Do: job.Ask, Why: "removes", Remember: new(false)},
	}
	stored := job.Snapshots{Mode: job.SnapshotsRequired, MaxFileBytes: 1 << 20, MaxSnapshotBytes: 2 << 20, MaxEntries: 30, MaxStoreBytes: 4 << 30, Exclude: []string{"data", "**/*.bin"}}
	want := job.Approvals{Sources: []job.Rules{{Origin: job.FromProject, Preset: job.PresetNever, Rules: rules}}, Timeout: 90 * time.Minute}
	c, problems := Parse("perstack.toml", []byte(ruleFile))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want, c.Settings.Approvals) + cmp.Diff(stored, c.Settings.Snapshots); diff != "" {
		t.Errorf("project:\n%s", diff)
	}
	want.Sources[0].Origin, want.TrustHints = job.FromUser, []string{"web"}
	u, problems := ParseUser("config.toml", []byte("trustHints = ['web']\nallowAll = false\n"+ruleFile))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want, u.Approvals) + cmp.Diff(stored, u.Snapshots); diff != "" || u.AllowAll == nil || *u.AllowAll {
		t.Errorf("user:\n%s", diff)
	}
	p, problems := ParsePolicy("policy.toml", []byte("approvals = 'read-only'\nallowAll = false\n[[rules]]\nhost = '*'\ndo = 'deny'\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(&Policy{AllowAll: new(false), Approvals: job.Rules{Origin: job.FromSystem, Preset: job.PresetReadOnly, Rules: []job.Rule{{Host: "*", Do: job.Deny}}}}, p); diff != "" {
		t.Errorf("policy:\n%s", diff)
	}
	if c, _ := Parse("perstack.toml", nil); c == nil || c.Settings.Approvals.Sources != nil {
		t.Errorf("a file without rules is no source: %+v", c)
	}
}

func TestWrongRules(t *testing.T) {
	for text, want := range map[string]string{
		"approvals = 'all'": `1:13: approvals: unknown value "all"; use auto, ask, never or read-only`,
		"[[rules]]\ntool = 'exec'\ncomand = 'git'\ndo = 'ask'":                                   `3:1: rules.0.comand: unknown key; did you mean "command"?`,
		"[[rules]]\ntool = 'x'":                                                                  `1:3: rules.0.do: is required; write do = "ask"`,
		"[[rules]]\ndo = 'ask'":                                                                  `1:3: rules.0: it names no call; add tool, skill, expert, command, path, host or args`,
		"[[rules]]\ntool = 'x'\ndo = 'forbid'":                                                   `3:6: rules.0.do: unknown value "forbid"; use allow, ask or deny`,
		"[[rules]]\ncommand = 'git push; rm'\ndo = 'ask'":                                        `2:11: rules.0.command: "git push; rm" has ';', and no shell reads it; write the words as a list`,
		"[[rules]]\ncommand = '\"git\" x'\ndo = 'ask'":                                           `2:11: rules.0.command: "\"git\" x" has '"', and no shell reads it; write the words as a list`,
		"[[rules]]\ncommand = []\ndo = 'ask'":                                                    `2:1: rules.0.command: is empty; the first word is the name of a program`,
		"[[rules]]\ncommand = 7\ndo = 'ask'":                                                     `2:11: rules.0.command: must be a string or an array, not an integer; write it like "git push **"`,
		"[[rules]]\ncommand = 'bash **'\ndo = 'allow'":                                           `1:3: rules.0: bash runs other programs, so a rule cannot say what it allows`,
		"[[rules]]\ncommand = 'git ** push'\ndo = 'allow'":                                       `1:3: rules.0: in a rule that allows, ** stands last: words in the middle can change what a command does`,
		"[[rules]]\ncommand = 'a **'\ndo = 'ask'\n[[rules]]\ntool='x'\nenv=['A']\ndo='ask'":      `4:3: rules.1: env is for rules that allow a command`,
		"[[rules]]\ncommand = 'git push **'\ndo = 'deny'\nmatch = ['git push', 'git -C x push']": `4:22: rules.0.match.1: the rule is wrong: it does not match "git -C x push"; change the rule, or the example`,
		"[[rules]]\ncommand = 'git **'\ndo = 'deny'\nnotMatch = [\n'gitk',\n'git status']":       `6:1: rules.0.notMatch.1: the rule is wrong: it matches "git status"; change the rule, or the example`,
		"[[rules]]\ntool = 'x'\nmatch = ['a']\ndo = 'deny'":                                      `1:3: rules.0: match and notMatch are for rules with a command`,
		"[[rules]]\nargs = { repo = 'x' }\ndo = 'deny'":                                          `2:10: rules.0.args.repo: is not a JSON pointer; begin it with a slash, like "/repo"`,
		"[[rules]]\ncommand = 'git push'\ndo = 'deny'":                                           `1:3: warning: rules.0: it matches commands with exactly 2 words; ** stands for any words`,
		"[sandbox]\nrules = []":                                                                  `2:1: sandbox.rules: unknown key; it is a list of tables: write each rule below [[rules]]`,
		"[experts.a]\ninstruction = 'x'\nsnapshots = 1":                                          `3:1: experts.a.snapshots: unknown key; it is a table of its own: write it as [snapshots]`,
		"[[rules]]\ntool = 'x'\ndo = 'ask'\napprovals = 'ask'":                                   `4:1: rules.0.approvals: unknown key; it is a top-level key: move it above the first [table]`,
		"[snapshots]\nmode = 'never'":                                                            `2:8: snapshots.mode: unknown value "never"; use off, auto or required`,
		"[snapshots]\nexclude = ['a', '/b']":                                                     `2:17: snapshots.exclude.1: "/b" is not a path in the workspace; write it relative to the workspace, like data/**/*.bin`,
		"trustHints = ['web']":                                                                   `1:1: trustHints: unknown key`,
		"allowAll = false":                                                                       `1:1: allowAll: unknown key`,
		"approvalTimeout = '0s'":                                                                 `1:19: approvalTimeout: must be more than 0; leave the key out for 7 days`,
	} {
		_, problems := Parse("p.toml", []byte(text))
		if got := problems.Error(); !strings.Contains(got, "p.toml:"+want) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"[[rules]]\ntool = 'x'\ndo = 'allow'": `unknown value "allow"; use ask or deny`,
		"trustHints = ['x']":                  `trustHints: unknown key`,
		"approvalTimeout = '1h'":              `approvalTimeout: unknown key`,
		"[sandbox]\nmode = 'off'":             `sandbox: unknown key`,
	} {
		if p, problems := ParsePolicy("policy.toml", []byte(text)); p != nil || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want %s", text, problems, want)
		}
	}
}

// The bounds of rules hold, and a file at the bounds is checked in less than a second.
func TestRuleBounds(t *testing.T) {
	many := func(n int, rule string) string { return strings.Repeat("[[rules]]\n"+rule+"\n", n) }
	words := func(n int) string { return strings.Repeat("a ", n-1) + "**" }
	examples := func(n int) string { return "match = [" + strings.Repeat("'git x',", n) + "]" }
	for text, want := range map[string]string{
		many(approval.MaxRules, "tool = 'x'\ndo = 'ask'"):                                                                            "",
		many(approval.MaxRules+1, "tool = 'x'\ndo = 'ask'"):                                                                          "has 501 entries; at most 500 are allowed",
		many(1, "command = '"+words(64)+"'\ndo = 'ask'"):                                                                             "",
		many(1, "command = '"+words(65)+"'\ndo = 'ask'"):                                                                             "the command has more than 64 words",
		many(1, "command = 'git **'\ndo = 'ask'\n"+examples(50)):                                                                     "",
		many(1, "command = 'git **'\ndo = 'ask'\n"+examples(51)):                                                                     "has 51 entries; at most 50 are allowed",
		many(1, "command = 'git **'\ndo = 'ask'\nnotMatch = ['a']\n"+examples(50)):                                                   "it has more than 50 examples",
		many(63, "tool = '"+strings.Repeat("a", 4096)+"'\ndo = 'ask'"):                                                               "",
		many(66, "tool = '"+strings.Repeat("a", 4096)+"'\ndo = 'ask'"):                                                               "the texts of all rules are larger than 256 KiB",
		many(1, "command = 'git "+strings.Repeat("a*", 2000)+"b **'\ndo = 'deny'\nnotMatch = ['git "+strings.Repeat("a", 4000)+"']"): "",
	} {
		_, problems := Parse("p.toml", []byte(text))
		if err := problems.Err(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %.300v, want %q", text, err, want)
		}
	}
}

// FuzzParsePolicy checks that no file makes the parser panic, and that a policy allows nothing.
func FuzzParsePolicy(f *testing.F) {
	f.Add(ruleFile)
	f.Add("approvals = 'ask'\nallowAll = false\n[[rules]]\nhost = '*'\ndo = 'deny'\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := ParsePolicy("policy.toml", []byte(text))
		if (p == nil) != (problems.Err() != nil) {
			t.Fatalf("%v with %v", p, problems)
		}
		if p == nil {
			return
		}
		for _, r := range p.Approvals.Rules {
			if _, err := approval.Check(r); err != nil || r.Do == job.Allow {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}
