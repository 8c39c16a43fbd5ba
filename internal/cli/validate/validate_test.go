package validate

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/toml"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Options
		err  string
	}{
		{args: nil},
		{args: []string{"--config", "a.toml"}, want: Options{Config: "a.toml"}},
		{args: []string{"--json"}, want: Options{JSON: true}},
		{args: []string{"--machine"}, want: Options{Machine: true}},
		{args: []string{"a.toml"}, err: `validate takes no arguments, but got "a.toml"; name the file with --config`},
	} {
		var got *Options
		cmd := New(nil, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append([]string{}, test.args...)) // nil would stand for those of the test
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || err.Error() != test.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: error = %v, want usage error %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil || *got != test.want {
			t.Errorf("%q: options = %+v, %v, want %+v", test.args, got, err, test.want)
		}
	}
}

func TestPrint(t *testing.T) {
	writer := &expert.Expert{Name: "@acme/writer", Version: "1.2.0"}
	editor := &expert.Expert{Name: "editor", Version: "1.0.0"}
	missing := toml.Problem{File: "perstack.toml", Line: 7, Column: 10, Path: "experts.a.instruction", Message: "is required", Hint: "tell it what to do"}
	syntax := toml.Problem{File: "perstack.toml", Line: 9, Column: 1, Message: "a \x1b[31mhostile\u202e\nmessage"}
	unused := toml.Problem{File: "perstack.toml", Line: 3, Column: 1, Path: "model", Message: "is not used", Warning: true}
	provider := toml.Problem{File: "perstack.toml", Path: "provider.providerName", Message: "cannot be used yet"}
	delegates := toml.Problem{File: "perstack.toml", Line: 4, Column: 1, Path: "experts.editor.delegates", Message: "is not in this file", Warning: true}
	for name, r := range map[string]*report{
		"good":    {experts: []listing{{Expert: writer}, {Expert: editor}}},
		"empty":   {},
		"warning": {problems: toml.Problems{unused}, warnings: 1, experts: []listing{{Expert: writer}}},
		"notes": {notes: toml.Problems{provider},
			experts: []listing{{Expert: writer}, {Expert: editor, notes: toml.Problems{delegates}}}},
		"bad": {problems: toml.Problems{unused, missing, syntax}, errors: 2, warnings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut, jsonOut bytes.Buffer
			if err := r.print(&out, &errOut, "perstack.toml"); err != nil {
				t.Fatal(err)
			}
			if err := r.printJSON(&jsonOut); err != nil {
				t.Fatal(err)
			}
			got := "-- stdout --\n" + out.String() + "-- stderr --\n" + errOut.String() + "-- json --\n" + jsonOut.String()
			testkit.Golden(t, name+".golden", got)
			if strings.ContainsAny(got, "\x1b\u202e") {
				t.Errorf("control characters reached the output: %q", got)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	for name, test := range map[string]struct {
		file           string
		stdout, stderr string // parts of the output
		code           int
	}{
		"good":        {"[experts.a]\ninstruction = 'x'\n[experts.b]\nversion = '2.0.0'\ninstruction = 'x'", "perstack.toml: 2 experts, no problems\n", "", 0},
		"unknown key": {"[experts.a]\ninstruction = 'x'\nmaxStep = 3", "", "perstack.toml:3:1: experts.a.maxStep: ", 2},
		"two at once": {"[experts.a]\ninstruction = 1\nmaxStep = 3", "", "perstack.toml: 2 errors\n", 2},
		"syntax":      {"[experts.a", "", "perstack.toml:1:", 2},
		"later":       {"runtime = 'docker'\n[experts.a]\ninstruction = 'x'\nminRuntimeVersion = 'v1.0'", "  a 1.0.0\n", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(test.file), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{}, {"--config", "perstack.toml"}} {
				out, errOut, code := validate(t, dir, args...)
				if code != test.code || !strings.Contains(out, test.stdout) || !strings.Contains(errOut, test.stderr) {
					t.Errorf("code %d, stdout %q, stderr %q, want %+v", code, out, errOut, test)
				}
				if (code == 0) != (errOut == "") || (code == 0) != (out != "") {
					t.Errorf("code %d, but stdout %q and stderr %q", code, out, errOut)
				}
			}
			out, errOut, code := validate(t, dir, "--json")
			var findings []finding
			if err := json.Unmarshal([]byte(out), &findings); err != nil || errOut != "" || code != test.code {
				t.Errorf("--json: %v, stdout %q, stderr %q, code %d", err, out, errOut, code)
			}
		})
	}
}

// The answers of the replay provider are part of what a file needs to work.
func TestCassette(t *testing.T) {
	const file = "[provider]\nproviderName = 'replay'\n[provider.setting]\n"
	const experts = "\n[experts.a]\ninstruction = 'x'\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.toml": "[[turn]]\ntext = 'a'", "bad.toml": "[[turn]]\n\ntext = 5",
		"set.toml":  file + "cassette = 'good.toml'" + experts,
		"none.toml": file + experts, "short.toml": "provider.providerName = 'replay'" + experts,
		"gone.toml": file + "cassette = 'sub/no.toml'" + experts,
		"dir.toml":  file + "cassette = '.'" + experts,
		"type.toml": file + "cassette = 'bad.toml'" + experts + "delegates = ['wirter']\n[experts.writer]\ninstruction = 'x'",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const at = "provider.setting.cassette: "
	const hint = "is not set; name the file with the answers, or give it to perstack run with --cassette\n"
	tests := map[string]struct {
		stderr string
		code   int
	}{
		"set.toml":   {"", 0},
		"none.toml":  {"none.toml:3:11: warning: " + at + hint, 0},
		"short.toml": {"short.toml:1:1: warning: " + at + hint, 0},
		"gone.toml":  {"gone.toml:4:1: " + at + `cannot read the cassette "sub/no.toml": no such file or directory` + "\ngone.toml: 1 error\n", 2},
		"dir.toml":   {"dir.toml:4:1: " + at + `cannot read the cassette ".": not a regular file` + "\ndir.toml: 1 error\n", 2},
		"type.toml": {"type.toml:4:1: " + at + "bad.toml:3: text must be a string, not an integer\n" +
			"type.toml:7:1: experts.a.delegates.0: delegate \"wirter\" is not in this file; did you mean \"writer\"?\ntype.toml: 2 errors\n", 2},
	}
	for name, want := range tests {
		out, errOut, code := validate(t, dir, "--config", name)
		if errOut != want.stderr || code != want.code || (code == 0) != (out != "") {
			t.Errorf("%s: code %d, stdout %q, stderr\n%s\nwant %d\n%s", name, code, out, errOut, want.code, want.stderr)
		}
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{}, {"--config", "gone.toml"}, {"--config", "https://example.com/perstack.toml"}} {
		out, errOut, code := validate(t, dir, args...)
		if out != "" || code != host.ExitUsage || errOut == "" {
			t.Errorf("%q: stdout %q, stderr %q, code %d", args, out, errOut, code)
		}
	}
}

func TestFindsFileInParent(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "[experts.a]\ninstruction = \"x\"\n"
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, code := validate(t, sub)
	if !strings.HasPrefix(out, filepath.Join(dir, "perstack.toml")+": 1 expert, no problems\n") || code != 0 {
		t.Errorf("stdout %q, code %d", out, code)
	}
}

func validate(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	cmd := New(&host.Host{Stdout: &out, Stderr: &errOut, Dir: dir}, nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...)) // nil would stand for those of the test
	err = cmd.Execute()
	return out.String(), errOut.String() + host.Describe(err), host.ExitCode(err)
}

// A delegate without a description is a warning; what this version cannot do
// with an Expert is reported for that Expert alone, as information. Neither is an error.
func TestDelegates(t *testing.T) {
	dir := t.TempDir()
	const file = `
[experts.lead]
instruction = "x"
delegates = ["writer", "far"]
[experts.writer]
instruction = "x"
delegates = ["lead", "reader"]
[experts.reader]
description = "Reads."
instruction = "x"
`
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	const hint = "; say in one what it is for: the model reads it to know when to ask\n"
	const problems = `perstack.toml:2:10: warning: experts.lead: has no description, but "writer" delegates to it` + hint +
		`perstack.toml:4:1: experts.lead.delegates.1: delegate "far" is not in this file; define it, or write "far@latest" for a published Expert` + "\n" +
		`perstack.toml:5:10: warning: experts.writer: has no description, but "lead" delegates to it` + hint +
		"perstack.toml: 1 error, 2 warnings\n"
	out, errOut, code := validate(t, dir)
	if code != 2 || errOut != problems || out != "" {
		t.Errorf("code %d, stdout\n%sstderr\n%s", code, out, errOut)
	}
}

// What this machine lacks is a note, and an error with --machine.
func TestMachine(t *testing.T) {
	const file = `
envPath = ["keys.env"]
[experts.a]
instruction = "x"
[experts.a.skills.s]
type = "mcpStdioSkill"
command = "no-such-program"
requiredEnv = ["SEARCH_KEY"]
[experts.a.skills.py]
type = "mcpStdioSkill"
command = "uvx"
packageName = "some-tool"
[experts.b]
instruction = "x"
[experts.b.provider]
providerName = "openai"
`
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("perstack.toml", file)
	for _, c := range []struct{ keys, want string }{
		{"", `env file "`},
		{"no assignment", `keys.env:1: expected = after the name; write NAME=value`}, // a run is refused
		{"SEARCH_KEY=k", `provider: anthropic: ANTHROPIC_API_KEY is not set`},
		{"SEARCH_KEY=k", `experts.b.provider: openai: OPENAI_API_KEY is not set`},
		{"ANTHROPIC_API_KEY=k\nOPENAI_API_KEY=k", `experts.a.skills.s.requiredEnv: SEARCH_KEY is not set`},
		{"ANTHROPIC_API_KEY=k\nOPENAI_API_KEY=k\nSEARCH_KEY=k", `experts.a.skills.s.command: the program "no-such-program" is not in PATH`},
		{"ANTHROPIC_API_KEY=k\nOPENAI_API_KEY=k\nSEARCH_KEY=k", `experts.a.skills.py.command: the program "uvx" is not in PATH`}, // as a run says
	} {
		if c.keys != "" {
			write("keys.env", c.keys)
		}
		if out, errOut, code := validate(t, dir); code != 0 || errOut != "" || !strings.Contains(out, "note: ") || !strings.Contains(out, c.want) {
			t.Errorf("%s: code %d, stdout\n%sstderr\n%s", c.want, code, out, errOut)
		}
		if out, errOut, code := validate(t, dir, "--machine"); code != 2 || out != "" || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: code %d, stdout\n%sstderr\n%s", c.want, code, out, errOut)
		}
	}
}
