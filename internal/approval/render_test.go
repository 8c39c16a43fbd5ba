package approval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/rawjson"
)

// dirty is what an attacker would like a person to see, or not to see.
const dirty = "\x1b[2J\x1b]0;title\x07\u009b31m\a\u202e\u2066\u200b\U000e0041\u0301"

func request(e event.Effect) *event.Approval {
	a := &event.Approval{
		Call:              event.ToolCall{ID: "c1", SkillName: "@perstack/base", ToolName: "exec", Args: rawjson.Value(`{"command":"git"}`)},
		Experts:           []string{"lead", "coder"},
		Said:              "I need to publish.",
		ApprovalRequested: event.ApprovalRequested{ToolCallID: "c1", Effect: e, Rule: "rule 1 of the project", Why: "publishes"},
	}
	a.Sandbox = "landlock"
	return a
}

func command(argv ...string) *event.Approval {
	return request(event.Effect{Kind: event.CommandEffect, Program: "/usr/bin/git", Argv: argv, Dir: "/home/me/shop"})
}

// with changes a request.
func with(a *event.Approval, change func(*event.Approval)) *event.Approval {
	change(a)
	return a
}

func TestRender(t *testing.T) {
	var secrets secret.Set
	secrets.AddKey("GITHUB_TOKEN", "ghp_sEcReT0123456789")
	forged := "x\nSandbox   full\nRule      none\n\nAllow this command? (nothing to see)"
	for name, a := range map[string]*event.Approval{
		"command": command("git", "push", "origin", "main"),
		"variables": with(command("git", "push"), func(a *event.Approval) {
			a.Effect.Env = []string{"GIT_SSH_COMMAND=ssh -i key", "LANG=C"}
			a.Sandbox, a.Why, a.Said = "", "", ""
		}),
		"script": command("sh", "-c", "set -e\n\tgit add .\n\tgit push\n", "sh"),
		"file": request(event.Effect{Kind: event.FileEffect, Path: "src/main.go",
			Diff: "--- a/src/main.go\n+++ b/src/main.go\n@@ -1,2 +1,2 @@\n package main\n-\tx := 1\n+\tx := 2 // \u202ereversed\n"}),
		"file without diff": with(request(event.Effect{Kind: event.FileEffect, Path: "old notes"}), func(a *event.Approval) {
			a.Call.ToolName, a.Call.Args = "deleteFile", rawjson.Value(`{"path":"old notes"}`)
		}),
		"host": request(event.Effect{Kind: event.HostEffect, Host: "example.com:443"}),
		"path": request(event.Effect{Kind: event.PathEffect, Path: "/srv/data sets", Named: "/srv/data sets/a\u202e.csv", Argv: []string{"cat", "/srv/data sets/a\u202e.csv"}}),
		"plan": request(event.Effect{Kind: event.PlanEffect, Plan: "1. Read the tests.\n2. Fix them.\n" + strings.Repeat("\n", 30) + "3. Delete the backups.\n"}),
		"tool": with(request(event.Effect{Kind: event.ToolEffect}), func(a *event.Approval) {
			a.Call.SkillName, a.Call.ToolName = "github", "merge"
			a.Call.Args = rawjson.Value(`{"repo":"acme/shop", "body":"one\ntwo\u200b","labels":["a",{"b":  "\u0072m\u202e \"x\\"}],"n":1e2,"repo":"evil/shop","":null}`)
		}),
		"tool with broken arguments": with(request(event.Effect{Kind: event.ToolEffect}), func(a *event.Approval) { a.Call.Args = rawjson.Value("{\"a\":\"\xff\x1b\"") }),
		"tool without arguments":     with(request(event.Effect{Kind: event.ToolEffect}), func(a *event.Approval) { a.Call.Args = rawjson.Value(`{}`) }),
		"unknown kind": with(request(event.Effect{Kind: "teleport", Host: "mars:1", Path: "/x", Unknown: map[string]rawjson.Value{"beam": rawjson.Value(`{"to":"\u202e"}`)}}), func(a *event.Approval) {
			a.Call.Args = rawjson.Value(`["a",1]`)
		}),
		"forged": with(command("git", forged, "x   Program   /bin/true"), func(a *event.Approval) {
			a.Said, a.Why, a.Rule, a.Experts = forged, forged, forged, []string{forged, "b\u200b"}
			a.Effect.Dir, a.Effect.Program, a.Sandbox = forged, forged, forged
		}),
		"hostile": with(command("git"+dirty, "a” “b", "", strings.Repeat(" ", 500)+"--force", "\xff\xfe", "'", `"`, `\`, "a\u00a0b"), func(a *event.Approval) {
			a.Said, a.Why, a.Rule, a.Experts, a.Sandbox = dirty, dirty, dirty, []string{dirty}, dirty
			a.Effect.Program, a.Effect.Dir, a.Effect.Env = dirty, dirty, []string{dirty, "X=" + dirty}
			a.Effect.Diff, a.Effect.Plan, a.Effect.Host, a.Effect.Path = dirty, dirty, dirty, dirty
		}),
		"no program":    with(command("gti", "push"), func(a *event.Approval) { a.Effect.Program = "" }),
		"right to left": command("cp", "אב/1", "גד/2", "here"),
		"secrets": with(command("curl", "-H", "Authorization: Bearer ghp_sEcReT0123456789", "[GITHUB_TOKEN]", "ghp_sEcReT0123456789\nx"), func(a *event.Approval) {
			a.Said = "I use ghp_sEcReT0123456789."
			a.Effect.Env = []string{"TOKEN=ghp_sEcReT0123456789"}
			a.Effect.Diff = "+ghp_sEcReT0123456789\n"
		}),
		"secrets in arguments": with(request(event.Effect{Kind: event.ToolEffect}), func(a *event.Approval) {
			a.Call.Args = rawjson.Value(`{"a":"ghp_sEcReT0123456789","b":{"c":"\u0067hp_sEcReT0123456789"}}`)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			v := approval.Render(a, secrets.Redact)
			wantSafe(t, v)
			text := v.Text()
			if strings.Contains(text, "sEcReT") {
				t.Errorf("a secret is shown: %s", text)
			}
			testkit.Golden(t, "render/"+strings.ReplaceAll(name, " ", "-")+".golden", text)
		})
	}
}

// wantSafe fails if something in a view acts on a terminal, is hidden, or begins a line that is
// ours.
func wantSafe(t *testing.T, v approval.View) {
	t.Helper()
	labels := []string{v.Title}
	for _, s := range v.Sections {
		labels = append(labels, s.Label)
		for _, line := range append(s.Lines, s.Label) {
			if terminal.Clean(line) != line || strings.ContainsFunc(line, unicode.IsControl) {
				t.Errorf("%s: %q is not safe to print", s.Label, line)
			}
		}
	}
	for line := range strings.Lines(v.Text()) {
		if !strings.HasPrefix(line, "  ") && !slices.ContainsFunc(labels, func(label string) bool { return strings.HasPrefix(line, label) }) {
			t.Errorf("the line %q begins at the left edge", line)
		}
	}
}

// section returns the lines of a section.
func section(t *testing.T, v approval.View, label string) []string {
	t.Helper()
	i := slices.IndexFunc(v.Sections, func(s approval.Section) bool { return s.Label == label })
	if i < 0 {
		t.Fatalf("there is no section %s in %+v", label, v)
	}
	return v.Sections[i].Lines
}

// Nothing is cut, however long it is.
func TestRenderLong(t *testing.T) {
	argv := []string{"touch"}
	for i := range 10_000 {
		argv = append(argv, fmt.Sprintf("file %d", i))
	}
	argv = append(argv, strings.Repeat("x", 1<<20))
	a := command(argv...)
	a.Said = strings.Repeat("word\n", 10_000)
	a.Effect.Env = argv
	v := approval.Render(a, nil)
	wantSafe(t, v)
	for _, label := range []string{"Command", "Variables"} {
		if got, err := testkit.ReadQuoted(strings.Join(section(t, v, label), "")); err != nil || !slices.Equal(got, argv) {
			t.Errorf("%s: %d words are shown, want %d (%v)", label, len(got), len(argv), err)
		}
	}
	if n := strings.Count(v.Text(), "word\n"); n != 10_000 {
		t.Errorf("%d of the model's lines are shown", n)
	}
}

// What the model says comes last, and is marked.
func TestRenderOrder(t *testing.T) {
	a := command("git", "push")
	a.Effect.Env = []string{"A=b"}
	var labels []string
	v := approval.Render(a, nil)
	for _, s := range v.Sections {
		labels = append(labels, s.Label)
	}
	want := []string{"Expert", "Sandbox", "Command", "Program", "Directory", "Variables", "Rule", "Why", "The model's words, which can be wrong or deceive you"}
	if !slices.Equal(labels, want) {
		t.Errorf("%q, want %q", labels, want)
	}
}

// FuzzRender takes two commands, with their words separated by NUL.
func FuzzRender(f *testing.F) {
	for _, seed := range [][2]string{
		{"git\x00push", "git push"}, {"a\x00", "a"}, {"a\" \"b", "a\x00b"}, {"\x1b[31m\x00\u202e", "\u202e\x00\x1b[31m"}, {"a\nb\x00c", "a\n\x00bc"},
		{"א\x00ב", "אב"}, {strings.Repeat(" ", 20), `\s{20}`}, {"\xff", "\ufffd"}, {"[redacted: X]", "[X]"},
	} {
		f.Add(seed[0], seed[1], "said", `{"a":"b"}`)
	}
	f.Fuzz(func(t *testing.T, first, second, said, args string) {
		var shown []string
		argvs := [][]string{strings.Split(first, "\x00"), strings.Split(second, "\x00")}
		for _, argv := range argvs {
			a := command(argv...)
			a.Said, a.Why = said, said
			a.Effect.Diff = said
			v := approval.Render(a, nil)
			wantSafe(t, v)
			lines := strings.Join(section(t, v, "Command"), "")
			if got, err := testkit.ReadQuoted(lines); err != nil || !slices.Equal(got, argv) {
				t.Errorf("%q is shown as %s, which reads %q (%v)", argv, lines, got, err)
			}
			shown = append(shown, v.Text())
		}
		if slices.Equal(argvs[0], argvs[1]) != (shown[0] == shown[1]) {
			t.Errorf("%q and %q are shown as\n%s\n%s", argvs[0], argvs[1], shown[0], shown[1])
		}
		a := request(event.Effect{Kind: event.ToolEffect})
		a.Call.Args = rawjson.Value(args)
		wantSafe(t, approval.Render(a, nil))
	})
}
