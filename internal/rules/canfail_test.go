package rules

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// files is a small repository.
type files map[string]string

func (f files) load(t *testing.T) *tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range f {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// importing returns a Go file of a package that imports something and does nothing.
func importing(name, target string) string {
	return "// Package " + name + " is here for a test.\npackage " + name + "\n\nimport _ \"" + target + "\"\n"
}

// inside returns a Go file with imports and a body at package level.
func inside(name, imports, body string) string {
	var b strings.Builder
	b.WriteString("// Package " + name + " is here for a test.\npackage " + name + "\n")
	for target := range strings.FieldsSeq(imports) {
		b.WriteString("import \"" + target + "\"\n")
	}
	return b.String() + body + "\n"
}

// exempting is the table of programs without a sandbox.
var exempting = inside("policy", module+"/expert", `const JobOff Exemption = "job"

func Exemptions() []ExemptionRow { return []ExemptionRow{{JobOff, "", ""}} }

func Off(e Exemption) *Policy { return &Policy{Level: expert.SandboxOff, Exempt: e} }`)

// withTable returns that table, with a file that uses it.
func withTable(body string) files {
	return files{
		"internal/sandbox/policy/off.go": exempting,
		"internal/cli/run/run.go":        inside("run", module+"/expert "+module+"/internal/sandbox/policy", body),
	}
}

// Every tree here breaks the rule that it stands under, in the way that is wanted.
var broken = []struct {
	rule string
	tree files
	want string // a part of the finding
}{
	{"arrows", files{"event/event.go": importing("event", module+"/expert")}, "event must not import expert"},
	{"arrows", files{"expert/expert.go": importing("expert", module+"/event")}, "expert must not import event"},
	{"arrows", files{"engine/run.go": importing("engine", module+"/internal/providers/anthropic")}, "engine must not import internal/providers/anthropic"},
	{"arrows", files{"engine/run.go": importing("engine", module+"/store/file")}, "engine must not import store/file"},
	{"arrows", files{"engine/run.go": importing("engine", module+"/internal/workspace")}, "engine must not import internal/workspace"},
	{"arrows", files{"internal/providers/chat/chat.go": importing("chat", module+"/internal/providers/gemini")}, "internal/providers/chat must not import internal/providers/gemini"},
	{"arrows", files{"internal/skills/base/base.go": importing("base", module+"/internal/skills/mcp")}, "internal/skills/base must not import internal/skills/mcp"},
	{"arrows", files{"store/store.go": importing("store", module+"/skill")}, "store must not import skill"},
	{"arrows", files{"internal/runtimes/local/local.go": importing("local", module+"/internal/cli/host")}, "must not import internal/cli/host"},
	{"arrows", files{"internal/runtimes/docker/docker.go": importing("docker", module+"/internal/runtimes/local")}, "must not import internal/runtimes/local"},
	{"arrows", files{"cmd/perstack/main.go": importing("main", module+"/engine")}, "cmd/perstack must not import engine"},
	{"arrows", files{"skill/skill.go": importing("skill", module)}, "skill must not import ."},
	{"arrows", files{"attic/attic.go": importing("attic", "fmt")}, "attic is not in the table of imports"},
	{"arrows", files{"engine/run_plan9.go": importing("engine", module+"/store/s3")}, "engine must not import store/s3"},

	{"test-packages", files{"engine/run.go": importing("engine", module+"/internal/testkit/llm")}, "is not a test"},
	{"test-packages", files{"store/file/file.go": importing("file", module+"/store/storetest")}, "is not a test"},
	{"test-packages", files{"store/file/file.go": importing("file", "testing/fstest")}, "is not a test"},

	{"reserved-imports", files{"engine/run.go": importing("engine", "net/http")}, "nothing to do with the network"},
	{"reserved-imports", files{"store/file/file.go": importing("file", "net")}, "nothing to do with the network"},
	{"reserved-imports", files{"engine/run.go": importing("engine", "os")}, "knows no file system"},
	{"reserved-imports", files{"internal/skills/base/read.go": importing("base", "os")}, "only internal/workspace opens paths"},
	{"reserved-imports", files{"internal/skills/base/read.go": importing("base", "golang.org/x/sys/unix")}, "only internal/workspace opens paths"},
	{"reserved-imports", files{"internal/cli/run/run.go": importing("run", "encoding/json")}, "ignores letter case"},
	{"reserved-imports", files{"internal/cli/run/run.go": importing("run", "log")}, "log/slog"},
	{"reserved-imports", files{"internal/sandbox/sandbox.go": importing("sandbox", "C")}, "one static file"},

	{"reserved-names", files{"internal/cli/run/run.go": inside("run", "os", `var key = os.Getenv("KEY")`)}, "os.Getenv: only internal/cli/host"},
	{"reserved-names", files{"internal/cli/run/run.go": "package run\n\nimport sys \"os\"\n\nvar key = sys.Getenv(\"KEY\")\n"}, "os.Getenv: only internal/cli/host"},
	{"reserved-names", files{"store/file/file.go": inside("file", "os", `var out = os.Stdout`)}, "the process belongs to main"},
	{"reserved-names", files{"engine/run.go": inside("engine", "context", `var ctx = context.Background()`)}, "take it from the caller"},
	{"reserved-names", files{"internal/skills/base/list.go": inside("base", "path/filepath", `var glob = filepath.Glob`)}, "behind the back of internal/workspace"},
	{"reserved-names", files{"registry/client.go": inside("registry", "net/http", `var client = &http.Client{}`)}, "a client is handed in"},
	{"reserved-names", files{"internal/skills/mcp/http.go": inside("mcp", "net", `var dial = net.Dialer{}`)}, "only internal/egress and internal/providers dial out"},

	{"starts", files{"internal/skills/mcp/stdio.go": importing("mcp", "os/exec")}, "os/exec: only internal/sandbox starts processes"},
	{"starts", files{"internal/sandbox/other.go": importing("sandbox", "golang.org/x/sys/execabs")}, "execabs: only internal/sandbox starts processes"},
	{"starts", files{"internal/workspace/open.go": inside("workspace", "os", `var start = os.StartProcess`)}, "os.StartProcess: only internal/sandbox"},
	{"starts", files{"internal/sandbox/other.go": "package sandbox\n\nimport sys \"syscall\"\n\nvar start = sys.ForkExec\n"}, "syscall.ForkExec: only internal/sandbox"},
	{"starts", files{"internal/workspace/open.go": inside("workspace", "golang.org/x/sys/unix", `var start = unix.Exec`)}, "unix.Exec: only internal/sandbox"},
	{"starts", files{"internal/workspace/open.go": inside("workspace", "golang.org/x/sys/unix", `var start, _, _ = unix.Syscall(unix.SYS_EXECVE, 0, 0, 0)`)}, "unix.SYS_EXECVE: only internal/sandbox"},
	{"starts", files{"internal/sandbox/init_unix.go": importing("sandbox", "os")}, "starts nothing"},
	{"starts", files{"internal/tui/editor.go": inside("tui", "charm.land/bubbletea/v2", `var start = tea.ExecProcess`)}, "tea.ExecProcess: only internal/sandbox"},
	{"starts", files{"internal/tui/editor.go": "package tui\n\nimport ui \"charm.land/bubbletea/v2\"\n\nvar start = ui.Exec\n"}, "tea.Exec: only internal/sandbox"},

	{"policies", files{"internal/cli/run/run.go": inside("run", module+"/internal/sandbox", `var c = sandbox.Command{Program: "true"}`)}, "run.go:4: a sandbox.Command has no Policy"},
	{"policies", files{"internal/cli/run/run.go": inside("run", module+"/internal/sandbox", `var c = &sandbox.Server{Program: "true", Policy: nil}`)}, "a sandbox.Server has no Policy"},
	{"policies", files{"internal/cli/run/run.go": inside("run", module+"/internal/sandbox", `var c = []sandbox.Command{{Program: "true"}}`)}, "a sandbox.Command has no Policy"},
	{"policies", files{"internal/cli/run/run.go": inside("run", module+"/internal/sandbox", `var c = map[string]*sandbox.Command{"a": {Program: "true"}}`)}, "a sandbox.Command has no Policy"},
	{"policies", files{"internal/cli/run/run.go": "package run\n\nimport box \"" + module + "/internal/sandbox\"\n\nvar c = box.Command{Program: \"true\"}\n"}, "a sandbox.Command has no Policy"},
	{"policies", files{"internal/sandbox/version.go": inside("sandbox", "", `var c = Command{Program: "true"}`)}, "a sandbox.Command has no Policy"},

	{"exemptions", withTable(`var p = policy.Policy{Level: expert.SandboxOff}`), "run.go:5: a policy of level off is not made by policy.Off"},
	{"exemptions", withTable(`var p = &policy.Policy{Level: "off"}`), "a policy of level off is not made by policy.Off"},
	{"exemptions", withTable(`var p = policy.Policy{Exempt: policy.JobOff}`), "a policy of level off is not made by policy.Off"},
	{"exemptions", withTable(`func f(p *policy.Policy) { p.Exempt = policy.JobOff }`), "a policy of level off is not made by policy.Off"},
	{"exemptions", withTable(`var p = policy.Off("job")`), "without a name of the table"},
	{"exemptions", withTable(`var p = policy.Off(policy.Other)`), "without a name of the table"},
	{"exemptions", withTable(`func f(e policy.Exemption) any { return policy.Off(e) }`), "policy.Exemption hides which exemption is meant"},
	{"exemptions", withTable(`var off = policy.Off`), "policy.Off hides which exemption is meant"},
	{"exemptions", withTable(``), "off.go:4: no program has the exemption JobOff"},
	{"exemptions", files{"internal/sandbox/policy/off.go": inside("policy", "", "const New Exemption = \"new\"")}, "off.go:3: New is not in the table of Exemptions"},
	{"exemptions", files{"internal/sandbox/policy/off.go": inside("policy", module+"/expert", "func other() Policy { return Policy{Level: expert.SandboxOff} }")}, "is not made by policy.Off"},

	{"libraries", files{"event/event.go": importing("event", "github.com/spf13/cobra")}, "event must not import github.com/spf13/cobra"},
	{"libraries", files{"engine/run.go": importing("engine", "pgregory.net/rapid")}, "engine must not import pgregory.net/rapid"},
	{"libraries", files{"engine/run_test.go": importing("engine", "example.com/left-pad")}, "not among the libraries we chose"},

	{"library-versions", files{"go.mod": "module a\n\nrequire github.com/mattn/go-runewidth v0.0.16 // indirect\n"}, "go.mod:3: github.com/mattn/go-runewidth v0.0.16 is older than v0.0.28"},

	{"package-names", files{"internal/util/util.go": importing("util", "fmt")}, "says nothing"},
	{"package-names", files{"event/types/types_test.go": "package types_test\n"}, "says nothing"},

	{"package-comments", files{"event/event.go": "package event\n"}, `begins with "Package event "`},
	{"package-comments", files{"event/event.go": "// Things that happened.\npackage event\n"}, `begins with "Package event "`},
	{"package-comments", files{"cmd/perstack/main.go": "package main\n"}, `begins with "Command perstack "`},

	{"file-length", files{"event/event.go": "package event\n" + strings.Repeat("\n", maxLines)}, "601 lines"},

	{"no-init", files{"event/event.go": "package event\n\nfunc init() {}\n"}, "init function"},

	{"no-shared-state", files{"event/event.go": "package event\n\nvar n int\n\nfunc next() int { n++; return n }\n"}, "n is changed"},
	{"no-shared-state", files{"event/a.go": "package event\n\nvar seen = map[string]bool{}\n", "event/b.go": "package event\n\nfunc see(s string) { seen[s] = true }\n"}, "seen is changed"},
	{"no-shared-state", files{"event/event.go": inside("event", "sync", "var mu sync.Mutex")}, "mu is made for being changed"},

	{"no-sleep-in-tests", files{"event/event_test.go": inside("event", "time", "func wait() { time.Sleep(1) }")}, "time.Sleep"},

	{"links", files{"docs/a.md": "see [b](b.md)\n"}, "link to b.md, which does not exist"},
	{"links", files{"docs/a.md": "see [`code`](../LICENSE)\n"}, "link to ../LICENSE, which does not exist"},
	{"links", files{"a.md": "# One\n\n[two](#two)\n"}, "no such heading"},
	{"links", files{"a.md": "[two](b.md#two)\n", "b.md": "# One\n"}, "b.md has no such heading"},

	{"toml-snippets", files{"a.md": "```toml\n[experts\n```\n"}, "a.md:1"},

	{"documented-commands", files{
		"README.md":            "```sh\nperstack fly me # to the moon\n```\n",
		"internal/cli/main.go": "package cli\n\nfunc f() { root.AddCommand(run.New(h, nil)) }\n",
	}, "perstack fly is not a command"},
	{"documented-commands", files{"README.md": "Run `make love`.\n", "Makefile": "build:\n\tgo build\n"}, "make love is not a target"},

	{"documented-commands", files{"a.md": "See `go test ./event ./model/wire -run TestX`.\n", "event/event.go": importing("event", "fmt")}, "there is no package model/wire"},

	{"words-in-pages", files{"README.md": "Behind the\nwall it is safe.\n"}, `README.md:2: "wall": write sandbox`},
	{"words-in-pages", files{"docs/a.md": "```\nwall\n```\n\nThe job goes\non.\n"}, `docs/a.md:5: "goes on": write continue`},
	{"words-in-pages", files{"docs/a.md": "Who can write there is root.\n"}, "write a subject"},
	{"words-in-pages", files{"docs/a.md": "Use `--shared-cell` here.\n"}, `docs/a.md:1: "cell": write sandbox`},
	{"words-in-messages", files{"job/job.go": inside("job", "", "var help = \"use --shared-cell here\"")}, `"cell": write sandbox`},
	{"words-in-messages", files{"skill/skill.go": inside("skill", "errors", "var ErrX = errors.New(`the walls do not stand`)")}, `skill/skill.go:4: "walls"`},
	{"words-in-messages", files{"internal/cli/x/x.go": inside("x", "", "var help = \"start\\nagain, or anew\"")}, `"anew": write again`},
	{"words-in-code", files{"event/a_test.go": "package event\n\n// It is safe behind the\n// wall.\nfunc f() {}\n"}, `event/a_test.go:4: "wall": write sandbox`},
	{"words-in-code", files{"internal/testkit/fake.go": "package testkit // of a room\n"}, `internal/testkit/fake.go:1: "room"`},
	{"words-in-code", files{"event/a_test.go": "package event\n\nfunc TestRunsGoOn() {}\n"}, `event/a_test.go:3: "Go On": write continue`},
	{"words-in-code", files{"event/a_test.go": "package event\n\nfunc f(theDesk int) { for mend := range 3 { purse := mend } }\n"}, `"purse": write budget`},
	{"words-in-code", files{"event/a_test.go": "package event\n\nfunc f(theDesk int) {}\n"}, `"Desk": write recorder`},
	{"words-in-code", files{"event/a_test.go": "package event\n\ntype a struct{ inner_cell int }\n"}, `"cell": write sandbox`},
	{"words-in-code", files{"test/fence.go": "package test\n"}, `test/fence.go:1: "fence"`},
	{"words-in-code", files{"event/a_test.go": inside("event", "", "func f() { t.Errorf(\"nobody answers\") }")}, `"nobody": write the actor`},
	{"words-in-code", files{"event/a_test.go": inside("event", "", "var m = map[string]int{\"begun anew\": 1}")}, `"anew": write again`},
	{"words-in-code", files{"event/a_test.go": inside("event", "", "var m = []row{{\"begun anew\", 1}}")}, `"anew": write again`},
	{"words-in-code", files{"event/a_test.go": inside("event", "", "var m = row{name: \"begun anew\"}")}, `"anew": write again`},
	{"words-in-code", files{"test/oracle/go.mod": "module oracle\n", "test/oracle/a_test.go": "package oracle\n\n// The whole house.\n"}, `test/oracle/a_test.go:3: "house"`},
	{"words-in-code", files{"Makefile": "all: # nobody needs it\n\tgo build\n"}, `Makefile:1: "nobody"`},
	{"words-in-code", files{".ci/run": "#!/bin/sh\n# it goes\n# on\n"}, `.ci/run:2: "goes on"`},
	{"words-in-code", files{"examples/a/perstack.toml": "instruction = \"Go on.\"\n"}, `examples/a/perstack.toml:1: "Go on"`},
	{"words-in-code", files{"test/testdata/script/a.txtar": "perstack run # anew\n-- a --\n"}, `test/testdata/script/a.txtar:1: "anew"`},
	{"words-in-code", files{"test/testdata/script/a_wall.txtar": "perstack run\n"}, `a_wall.txtar:1: "wall"`},
	{"flags-in-libraries", files{"engine/run.go": inside("engine", "errors", "var errX = errors.New(\"it is there; continue it with --continue-job\")")}, "a message names --continue-job"},
	{"flags-in-libraries", files{"skill/x.go": inside("skill", "", "var text = `it is stale; run: perstack install`")}, "a message names perstack install"},
	{"examples", files{"example_a_test.go": importing("perstack_test", module+"/internal/manifest")}, "an example imports " + module + "/internal/manifest"},
	{"page-width", files{"docs/a.md": strings.Repeat("word ", 21) + "\n"}, "docs/a.md:1: 105 columns"},
	{"page-width", files{"README.md": "- " + strings.Repeat("ä", 50) + " " + strings.Repeat("ä", 50) + " a\n"}, "105 columns"},

	{"documented-tests", files{"SECURITY.md": "proved by `TestFence`\n"}, "there is no test TestFence"},
	{"documented-tests", files{"SECURITY.md": "`go test ./event -run 'TestRun\\|TestRead/x'`\n", "event/a_test.go": "package event\n\nfunc TestRunAll() {}\n", "model/a_test.go": "package model\n\nfunc TestRead() {}\n"}, "there is no test TestRead in event"},
	{"documented-tests", files{"SECURITY.md": "`internal/skills/base.TestFence`\n", "internal/skills/mcp/a_test.go": "package mcp\n\nfunc TestFence() {}\n"}, "there is no test internal/skills/base.TestFence"},
}

func TestRulesCanFail(t *testing.T) {
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			tried := 0
			for _, b := range broken {
				if b.rule != rule.name {
					continue
				}
				tried++
				found := rule.find(b.tree.load(t))
				if !slices.ContainsFunc(found, func(f finding) bool { return strings.Contains(f.String(), b.want) }) {
					t.Errorf("%v\n\tfindings: %v\n\twanted one with %q", b.tree, found, b.want)
				}
			}
			if tried == 0 {
				t.Error("no tree breaks this rule: add one to broken")
			}
		})
	}
}

// What looks like a breach and is none.
var sound = files{
	"LICENSE":  "text\n",
	"Makefile": "test: ## run the tests\n",
	"README.md": "# Read me\n\n[licence](LICENSE) [here](#read-me) [there](docs/a.md#a-heading) [out](https://example.com/a.md)\n" +
		"`[not](a-link.md)` `TestRoot...` `engine.TestRun/case`\n\n" +
		"```sh\n$ go run ./cmd/perstack run x   # or perstack fly\nmake test\n```\n\n```toml\na = 1\n```\n\n```text\n[experts\n```\n",
	"docs/a.md": "## A heading\n\nA `sandbox`, a [link](#a-heading) to a firewall, and `go test ./event -run X`.\n\n" +
		"| " + strings.Repeat("wide ", 30) + "|\n\n[" + strings.Repeat("a long link ", 7) + "](https://example.com/" + strings.Repeat("x", 50) + ")\n",
	"CHANGES.md":                     "Not a page for people: nobody.\n",
	"event/message.go":               inside("event", "", "var key = \"wall\""),
	"internal/testkit/fake.go":       inside("testkit", "", "var help = \"behind the wall\"\n\nfunc f() { var firewall, w = unix.WALL, ask(\"A room with a view.\") }"),
	"test/testdata/script/a.txtar":   "# the file below is data\nperstack run\n\n-- a.txt --\n# nobody\n",
	"test/script.sh":                 "echo nobody\n",
	"perstack/jobs/x.md":             "[history](of-a-run.md)\n",
	"event/event.go":                 inside("event", "fmt", "var ErrX = fmt.Errorf(`x`)\n\nvar _ error = ErrX\n\nfunc f() { _ = ErrX; ErrX := 1; ErrX++; os := struct{ Stdout int }{}; _ = os.Stdout }"),
	"engine/run.go":                  importing("engine", module+"/event"),
	"engine/run_test.go":             inside("engine", "os/exec encoding/json "+module+"/store/file", "func TestRun() {}"),
	"cmd/perstack/main.go":           "// Command perstack is here for a test.\npackage main\n\nimport \"context\"\n\nvar ctx = context.Background()\n",
	"internal/cli/main.go":           inside("cli", "", "func f() { root.AddCommand(run.New(h, nil)) }"),
	"internal/cli/host/host.go":      inside("host", "os", "var env = os.Environ()"),
	"internal/sandbox/os_windows.go": importing("sandbox", "os/exec"),
	"internal/sandbox/policy/off.go": exempting,
	"internal/skills/server.go": inside("skills", module+"/internal/sandbox "+module+"/internal/sandbox/policy",
		"var c, none, free = sandbox.Command{Policy: p}, sandbox.Command{}, policy.Off(policy.JobOff)\n\nvar list = []sandbox.Command{{Policy: p}}\n\nvar q = policy.Policy{Level: level}"),
	"internal/egress/client.go": inside("egress", "net/http", "type Client struct{ HTTP *http.Client }"),
	"internal/testkit/pty.go":   importing("testkit", "os/exec"),
	"store/storetest/suite.go":  importing("storetest", "testing"),
	"test/oracle/go.mod":        "module oracle\n",
	"test/oracle/oracle.go":     "package util\n\nfunc init() {}\n",
	"event/testdata/broken.go":  "not Go",
}

func TestRulesCanPass(t *testing.T) {
	tree := sound.load(t)
	for _, rule := range rules {
		for _, found := range rule.find(tree) {
			t.Errorf("%s: %s", rule.name, found)
		}
	}
}

func TestBrokenTreesNameARule(t *testing.T) {
	for _, b := range broken {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.name == b.rule }) {
			t.Errorf("there is no rule %q", b.rule)
		}
	}
}
