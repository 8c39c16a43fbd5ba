package approval

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// The table of presets.
func TestPresets(t *testing.T) {
	read, write := Request{Class: Reads}, Request{Class: Writes}
	sandboxed, bare, accepted := Request{Class: Starts, Sandboxed: true}, Request{Class: Starts}, Request{Class: Starts, Accepted: true}
	escape := Request{Class: Escapes, Sandboxed: true}
	requests := []Request{read, write, sandboxed, bare, accepted, escape}
	for _, tt := range []struct {
		policy Policy
		want   string
	}{
		{Policy{}, "allow allow allow ask allow ask"},
		{preset(job.PresetAuto), "allow allow allow ask allow ask"},
		{preset(job.PresetAsk), "allow ask ask ask ask ask"},
		{preset(job.PresetNever), "allow allow allow deny allow deny"},
		{preset(job.PresetReadOnly), "allow deny deny deny deny deny"},
		{Policy{Approvals: job.Approvals{AllowAll: true}}, "allow allow allow allow allow allow"},
		{Policy{Approvals: job.Approvals{AllowAll: true, Sources: preset(job.PresetNever).Sources}}, "allow allow allow deny allow deny"},
		{Policy{Approvals: job.Approvals{AllowAll: true, Sources: preset(job.PresetReadOnly).Sources}}, "allow deny deny deny deny deny"},
		{Policy{Approvals: job.Approvals{Plan: true}}, "allow deny allow deny deny deny"},
		{Policy{Approvals: job.Approvals{Plan: true, AllowAll: true}}, "allow deny allow deny deny deny"},
		{preset(job.PresetAuto, job.PresetAsk), "allow ask ask ask ask ask"},
		{preset(job.PresetReadOnly, job.PresetAuto), "allow deny deny deny deny deny"},
		{preset(job.PresetAsk, job.PresetNever), "allow deny deny deny deny deny"}, // never alone would allow what ask asks about
	} {
		got := ""
		for i, q := range requests {
			if i > 0 {
				got += " "
			}
			got += string(tt.policy.Decide(&q).Do)
		}
		if got != tt.want {
			t.Errorf("%+v:\n got %s\nwant %s", tt.policy, got, tt.want)
		}
	}
}

func preset(all ...job.Preset) (p Policy) {
	for _, preset := range all {
		p.Sources = append(p.Sources, job.Rules{Origin: job.FromUser, Preset: preset})
	}
	return p
}

func command(words ...string) Request {
	return Request{Tool: "exec", Skill: "@perstack/base", Expert: "dev", Class: Starts, Sandboxed: true, Command: words}
}

func rules(all ...job.Rule) *Policy {
	return &Policy{Approvals: job.Approvals{Sources: []job.Rules{{Origin: job.FromUser, Rules: all}}}}
}

func TestStrictestRuleCounts(t *testing.T) {
	allow, ask, deny := job.Rule{Tool: "exec", Do: job.Allow}, job.Rule{Tool: "ex*", Do: job.Ask, Why: "careful"}, job.Rule{Expert: "dev", Do: job.Deny, Why: "no"}
	for _, tt := range []struct {
		rules []job.Rule
		want  Decision
	}{
		{[]job.Rule{allow}, Decision{job.Allow, "rule 1 of the user", "", true}},
		{[]job.Rule{allow, ask}, Decision{job.Ask, "rule 2 of the user", "careful", true}},
		{[]job.Rule{ask, allow}, Decision{job.Ask, "rule 1 of the user", "careful", true}},
		{[]job.Rule{ask, deny, allow}, Decision{job.Deny, "rule 2 of the user", "no", true}},
		{[]job.Rule{ask, {Tool: "exec", Do: job.Ask, Remember: new(bool)}}, Decision{job.Ask, "rule 1 of the user", "careful", false}},
		{[]job.Rule{{Tool: "other", Do: job.Deny}}, Decision{job.Allow, "the preset auto", "", true}},
	} {
		q := command("git", "status")
		if got := rules(tt.rules...).Decide(&q); got != tt.want {
			t.Errorf("%+v:\n got %+v\nwant %+v", tt.rules, got, tt.want)
		}
	}
}

// Whatever rule is added, to ask or to deny never makes a decision less strict.
func TestStricterRulesNeverLoosen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	rule := func(do job.Verdict) job.Rule {
		r := job.Rule{Tool: pick("", "exec", "*", "write*"), Expert: pick("", "dev", "d*"), Do: do}
		if random.IntN(2) == 0 {
			r.Command = []string{pick("git", "*", "rm"), pick("**", "push", "status")}
		}
		if random.IntN(4) == 0 {
			r.Remember = new(bool)
		}
		return r
	}
	verdicts := []job.Verdict{job.Allow, job.Ask, job.Deny}
	for range 20_000 {
		p := &Policy{Approvals: job.Approvals{
			AllowAll: random.IntN(4) == 0, Plan: random.IntN(4) == 0,
			Sources: []job.Rules{{Origin: job.FromUser, Preset: job.Preset(pick("", "auto", "ask", "never", "read-only"))}},
		}}
		if random.IntN(2) == 0 {
			p.Granted = func(*Request) (string, bool) { return "grant", true }
		}
		for range random.IntN(4) {
			p.Sources[0].Rules = append(p.Sources[0].Rules, rule(verdicts[random.IntN(3)]))
		}
		q := command(pick("git", "rm", "sh", "./git"), pick("push", "status"))
		q.Class, q.Sandboxed, q.Accepted = Class(random.IntN(4)), random.IntN(2) == 0, random.IntN(2) == 0
		q.Destructive, q.Network, q.InWorkspace = random.IntN(4) == 0, random.IntN(2) == 0, random.IntN(4) == 0
		before := p.Decide(&q)
		p.Sources[0].Rules = append(p.Sources[0].Rules, rule(verdicts[1+random.IntN(2)]))
		if after := p.Decide(&q); strictness(after.Do) < strictness(before.Do) {
			t.Fatalf("%+v was decided as %s, and as %s with one more rule of %+v", q, before.Do, after.Do, p.Sources[0].Rules)
		}
	}
}

func TestGrantsAnswerQuestionsOnly(t *testing.T) {
	granted := func(*Request) (string, bool) { return "grant 1", true }
	for _, tt := range []struct {
		rule job.Rule
		want job.Verdict
	}{
		{job.Rule{Tool: "exec", Do: job.Ask}, job.Allow},
		{job.Rule{Tool: "exec", Do: job.Deny}, job.Deny},
		{job.Rule{Tool: "exec", Do: job.Ask, Remember: new(bool)}, job.Ask},
	} {
		p := rules(tt.rule)
		p.Granted = granted
		q := command("git", "push")
		if got := p.Decide(&q).Do; got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.rule, got, tt.want)
		}
	}
}

// Ways around a rule that a call can try in its words.
func TestCommandRules(t *testing.T) {
	push := job.Rule{Command: []string{"git", "**", "push", "**"}, Do: job.Deny}
	test := job.Rule{Command: []string{"go", "test", "**"}, Env: []string{"CI"}, Do: job.Allow}
	exact := job.Rule{Command: []string{"git", "status"}, Do: job.Allow}
	for _, tt := range []struct {
		rule job.Rule
		q    Request
		want bool
	}{
		{push, command("git", "push"), true},
		{push, command("git", "-C", "x", "push", "--force"), true},
		{push, command("/usr/bin/git", "push"), true},
		{push, command("./git", "push"), true},
		{push, command("../../bin/git", "push"), true},
		{push, command("git", "status"), false},
		{push, command("git", "pushx"), false},
		{push, command("git-push"), false}, // another program, which its own rule has to name
		{push, command("git"), false},
		{test, command("go", "test"), true},
		{test, command("go", "test", "./..."), true},
		{test, command("go", "testx"), false},
		{test, command("/usr/bin/go", "test"), false},
		{test, command("./go", "test"), false},
		{test, with(command("go", "test"), func(q *Request) { q.InWorkspace = true }), false},
		{test, with(command("go", "test"), func(q *Request) { q.Env = []string{"CI"} }), true},
		{test, with(command("go", "test"), func(q *Request) { q.Env = []string{"CI", "GOFLAGS"} }), false},
		{exact, command("git", "status"), true},
		{exact, command("git", "status", "-s"), false},
		{exact, command("git status"), false},
		{exact, Request{Tool: "other", Command: []string{"git", "status"}}, false},
	} {
		if got := matches(&tt.rule, &tt.q); got != tt.want {
			t.Errorf("%v and %v (env %v): %v", tt.rule.Command, tt.q.Command, tt.q.Env, got)
		}
	}
}

func with(q Request, change func(*Request)) Request {
	change(&q)
	return q
}

func TestOtherFields(t *testing.T) {
	for _, tt := range []struct {
		rule job.Rule
		q    Request
		want bool
	}{
		{job.Rule{Path: "src/**"}, Request{Path: "src/a/b.go"}, true},
		{job.Rule{Path: "src/**"}, Request{Path: "src"}, true},
		{job.Rule{Path: "src/**"}, Request{Path: "source/a"}, false},
		{job.Rule{Path: "**/*.pem"}, Request{Path: "a/b/key.pem"}, true},
		{job.Rule{Path: "**/*.pem"}, Request{Path: "key.pem"}, true},
		{job.Rule{Path: "**"}, Request{}, false},
		{job.Rule{Host: "*.example.com:443"}, Request{Host: "a.example.com:443"}, true},
		{job.Rule{Host: "*.example.com:443"}, Request{Host: "example.com:443"}, false},
		{job.Rule{Host: "a.example.com"}, Request{Host: "A.example.com:443"}, true}, // all ports
		{job.Rule{Host: "a.example.com:80"}, Request{Host: "a.example.com:443"}, false},
		{job.Rule{Host: "::1"}, Request{Host: "[::1]:443"}, true},
		{job.Rule{Host: "*"}, Request{}, false},
		// Rules about calls, or about paths in the workspace, do not let a program out of the sandbox.
		{job.Rule{Host: "a.example.com", Do: job.Allow}, Request{Host: "a.example.com:443", Class: Escapes}, true},
		{job.Rule{Expert: "*", Do: job.Allow}, Request{Host: "a.example.com:443", Class: Escapes}, false},
		{job.Rule{Skill: "*", Do: job.Allow}, Request{Skill: "web", Path: "/srv", Class: Escapes}, false},
		{job.Rule{Skill: "*", Do: job.Deny}, Request{Skill: "web", Host: "a.example.com:443", Class: Escapes}, true},
		{job.Rule{Path: "**", Do: job.Allow}, Request{Path: "/srv/data", Class: Escapes}, false},
		{job.Rule{Path: "**", Do: job.Allow}, Request{Host: "a.example.com:443", Class: Escapes}, false},
		{job.Rule{Path: "/srv/**", Do: job.Allow}, Request{Path: "/srv/data", Class: Escapes}, true},
		{job.Rule{Path: "**/.ssh/**", Do: job.Deny}, Request{Path: "/home/me/.ssh", Class: Escapes}, true},
		{job.Rule{Args: map[string]string{"/repo": "acme/*"}}, Request{Args: rawjson.Value(`{"repo":"acme/x"}`)}, true},
		{job.Rule{Args: map[string]string{"/repo": "acme/*"}}, Request{Args: rawjson.Value(`{"repo":"evil/x"}`)}, false},
		{job.Rule{Args: map[string]string{"/repo": "*"}}, Request{Args: rawjson.Value(`{}`)}, false},
		{job.Rule{Args: map[string]string{"/a/1/b~1c": "2"}}, Request{Args: rawjson.Value(`{"a":[0,{"b/c":2}]}`)}, true},
		{job.Rule{Args: map[string]string{"/a/x": "*"}}, Request{Args: rawjson.Value(`{"a":[1]}`)}, false},
		{job.Rule{Skill: "gh", Tool: "create*"}, Request{Skill: "gh", Tool: "createIssue"}, true},
		{job.Rule{Skill: "gh", Tool: "create*"}, Request{Skill: "other", Tool: "createIssue"}, false},
	} {
		if got := matches(&tt.rule, &tt.q); got != tt.want {
			t.Errorf("%+v and %+v: %v", tt.rule, tt.q, got)
		}
	}
}

// Whatever preset a project names, and whatever it asks about or denies, no call gets through that
// the user's file alone would stop.
func TestProjectOnlyTightens(t *testing.T) {
	presets := []job.Preset{"", job.PresetAuto, job.PresetAsk, job.PresetNever, job.PresetReadOnly}
	yes, no := true, false
	projectRules := [][]job.Rule{nil, {{Tool: "*", Do: job.Ask}}, {{Tool: "*", Do: job.Deny}}, {{Tool: "exec", Do: job.Ask, Remember: &no}}, {{Command: []string{"git", "**"}, Do: job.Ask, Remember: &yes}}}
	userRules := [][]job.Rule{nil, {{Tool: "exec", Do: job.Allow}}, {{Tool: "exec", Do: job.Ask, Remember: &no}}, {{Tool: "exec", Do: job.Deny}}}
	var requests []Request
	for _, class := range []Class{Reads, Writes, Starts, Escapes} {
		for _, held := range [][2]bool{{true, false}, {false, true}, {false, false}} {
			for _, words := range [][]string{nil, {"git", "push"}, {"sh", "-c", "x"}} {
				requests = append(requests, Request{Tool: "exec", Class: class, Sandboxed: held[0], Accepted: held[1], Command: words})
			}
		}
	}
	granted := func(q *Request) (string, bool) { return "a grant", len(q.Command) > 0 }
	for _, mine := range presets {
		for _, theirs := range presets {
			for i, own := range userRules {
				for n, rules := range projectRules {
					for _, allowAll := range []bool{false, true} {
						user := job.Rules{Origin: job.FromUser, Preset: mine, Rules: own}
						alone := Policy{Approvals: job.Approvals{AllowAll: allowAll, Sources: []job.Rules{user}}, Granted: granted}
						both := alone
						both.Sources = []job.Rules{{Origin: job.FromProject, Preset: theirs, Rules: rules}, user}
						for _, q := range requests {
							if a, b := alone.Decide(&q), both.Decide(&q); strictness(b.Do) < strictness(a.Do) {
								t.Errorf("user %q %d, project %q %d, all %t, %+v: %s, and %s with the project", mine, i, theirs, n, allowAll, q, a.Do, b.Do)
							}
						}
					}
				}
			}
		}
	}
}

func TestOpaqueCommands(t *testing.T) {
	deny := job.Rule{Command: []string{"rm", "**"}, Do: job.Deny}
	for _, words := range [][]string{{"sh", "-c", "rm -r x"}, {"/bin/bash", "x"}, {"python3.12", "x"}, {"env", "rm"}, {"make"}, {"Bash"}, {"cmd.exe"}, {"node22"}} {
		q := command(words...)
		q.Accepted, q.Sandboxed = true, false
		want := job.Ask
		if words[0] == "cmd.exe" { // not a program that is known
			want = job.Allow
		}
		if got := rules(deny).Decide(&q).Do; got != want {
			t.Errorf("%v without a sandbox: %s, want %s", words, got, want)
		}
		if got := rules().Decide(&q).Do; got != job.Allow {
			t.Errorf("%v without rules: %s", words, got)
		}
		q.Sandboxed = true
		if got := rules(deny).Decide(&q).Do; got != job.Allow {
			t.Errorf("%v in a sandbox: %s", words, got)
		}
	}
	own := command("./tool")
	own.InWorkspace, own.Accepted, own.Sandboxed = true, true, false
	if got := rules(deny).Decide(&own).Do; got != job.Ask {
		t.Errorf("a program in the workspace: %s", got)
	}
}

func TestHintsOnlyRaise(t *testing.T) {
	q := Request{Skill: "gh", Tool: "drop", Class: Starts, Sandboxed: true, Destructive: true, Network: true}
	if got := (&Policy{}).Decide(&q).Do; got != job.Ask {
		t.Errorf("destructive: %s", got)
	}
	q.Network = false
	if got := (&Policy{}).Decide(&q).Do; got != job.Allow {
		t.Errorf("destructive, in its sandbox: %s", got)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		rule    job.Rule
		warning bool
		bad     bool
	}{
		{rule: job.Rule{Tool: "exec", Do: job.Ask}},
		{rule: job.Rule{Tool: "exec", Do: "maybe"}, bad: true},
		{rule: job.Rule{Do: job.Deny}, bad: true},
		{rule: job.Rule{Command: []string{"git", "push"}, Do: job.Deny}, warning: true},
		{rule: job.Rule{Command: []string{"git", "push", "**"}, Do: job.Deny}},
		{rule: job.Rule{Command: []string{"git", "**", "push"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Command: []string{"git", "status"}, Do: job.Allow}},
		{rule: job.Rule{Command: []string{"./run"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Command: []string{"g*"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Command: []string{"**"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Command: []string{"bash", "**"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Command: []string{"env", "**"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Command: []string{"bash", "**"}, Do: job.Deny}},
		{rule: job.Rule{Tool: "read", Command: []string{"git"}, Do: job.Deny}, bad: true},
		{rule: job.Rule{Tool: "exec", Env: []string{"A"}, Do: job.Deny}, bad: true},
		{rule: job.Rule{Tool: "exec", Match: []string{"git"}, Do: job.Deny}, bad: true},
		{rule: job.Rule{Command: []string{"git", "**", "push", "**"}, Do: job.Deny, Match: []string{"git push", "git -C x push"}, NotMatch: []string{"git status"}}},
		{rule: job.Rule{Command: []string{"git", "push", "**"}, Do: job.Deny, Match: []string{"git -C x push"}}, bad: true},
		{rule: job.Rule{Command: []string{"git", "**"}, Do: job.Deny, NotMatch: []string{"git status"}}, bad: true},
		{rule: job.Rule{Command: []string{"git", "**"}, Do: job.Deny, Match: []string{"git 'x'"}}, bad: true},
		{rule: job.Rule{Args: map[string]string{"repo": "x"}, Do: job.Deny}, bad: true},
		{rule: job.Rule{Tool: "exec", Args: map[string]string{"/command": "git"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Tool: "e*", Skill: "@perstack/*", Args: map[string]string{"/command": "git"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Args: map[string]string{"/command": "git"}, Do: job.Allow}, bad: true},
		{rule: job.Rule{Args: map[string]string{"/command": "git"}, Do: job.Deny}},
		{rule: job.Rule{Skill: "web", Args: map[string]string{"/command": "git"}, Do: job.Allow}},
		{rule: job.Rule{Tool: "readTextFile", Args: map[string]string{"/path": "a"}, Do: job.Allow}},
		{rule: job.Rule{Tool: "exec", Do: job.Deny, Remember: new(bool)}, bad: true},
	} {
		warning, err := Check(tt.rule)
		if (err != nil) != tt.bad || (warning != "") != tt.warning {
			t.Errorf("%+v: warning %q, error %v", tt.rule, warning, err)
		}
	}
}

func TestSplitCommand(t *testing.T) {
	for text, want := range map[string]string{
		"git push": `["git" "push"]`, "  a  b ": `["a" "b"]`, "": "", "a; b": "", "a $b": "", "a 'b'": "", `a "b"`: "", "a|b": "", "a&b": "", "a>b": "", "a(b)": "", `a\b`: "", "a `b`": "",
	} {
		words, err := SplitCommand(text)
		if got := fmt.Sprintf("%q", words); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

// What a rule of a project says is shown whole, and cannot draw on the terminal.
func TestDescribe(t *testing.T) {
	for want, rule := range map[string]job.Rule{
		`tool *, command git "a b" **, with the variables A B`:    {Tool: "*", Command: []string{"git", "a b", "**"}, Env: []string{"A", "B"}},
		`path src/**, host *.a, argument /x y`:                    {Path: "src/**", Host: "*.a", Args: map[string]string{"/x": "y"}},
		`skill "s\u202e", expert "e\x1b[2J", command x "c\nd" ""`: {Skill: "s\u202e", Expert: "e\x1b[2J", Command: []string{"x", "c\nd", ""}},
		`command a "b, tool *"`:                                   {Command: []string{"a", "b, tool *"}},
		`command a "b,"`:                                          {Command: []string{"a", "b,"}},
	} {
		if got := Describe(rule); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
