//go:build unix

package test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// The secrets of the canary run, by the names of their variables.
const (
	canaryKey     = "sk-ant-canary-Ab1xYz93kQpLmN0wT7"       // the key in use, in the environment
	canaryLost    = "sk-ant-yellow-Zq8wEr5tYu2iOp4aSd6"      // the same variable in .env, where it loses
	canaryApp     = "psk-bird-R5tUv8WqZ2xC4nM6bV9"           // PERSTACK_API_KEY, in .env alone
	canaryService = "9f8Kx2LmQ8vTz4Wb7Hn3Jd"                 // requiredEnv of a skill, in the environment
	canaryOdd     = `p"a\ss/w0rd<&>'Gk5Lp2` + "ünï" + `%41z` // requiredEnv of another, in .env.local
	canaryToken   = "tok-finch-J7hGf5Ds3Aq1Wz"               // in .env.local, no Expert asks for it

	plainCanary = "plain words that are no secret"
)

var canaries = map[string]string{
	"ANTHROPIC_API_KEY": canaryKey, "PERSTACK_API_KEY": canaryApp, "SERVICE_KEY": canaryService, "ODD_PASSWORD": canaryOdd, "SOME_TOKEN": canaryToken,
}

// TestCanary drives every base tool of the real program with the aim of getting secrets
// out, and looks for them afterwards in everything that the run left or said. Secrets
// are in the environment, in env files and in files of the workspace; the provider
// repeats the key in its errors.
func TestCanary(t *testing.T) {
	program := program(t)
	for _, args := range [][]string{
		{"--events", "full", "--output", "json", "--verbose"},
		{"--events", "lean", "--output", "json", "--verbose"},
		{"--output", "progress", "--verbose"},
		{"--output", "text", "--verbose"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			c := newCanary(t, program, leaking())
			stdout, stderr := c.run(0, append([]string{"run", "leaker", "go", "--job-id", "job"}, args...)...)
			c.shows("stdout", stdout)
			c.shows("stderr", stderr)
			c.check()
			if args[1] == "full" {
				c.checkTools(stdout)
			}
			if !strings.Contains(stdout+stderr, marker("PERSTACK_API_KEY")) || !strings.Contains(stdout+stderr, "crashed while handling") {
				t.Errorf("nothing tells of the retry: %s", stderr)
			}
			if !strings.Contains(stdout, "All tried.") {
				t.Error("stdout lacks the answer") // and is not shown: it has the environment of other processes
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		refusal := fmt.Sprintf("[[turn]]\n[turn.error]\nstatus = 401\nmessage = %q\n", "invalid x-api-key: "+canaryKey+" and "+canaryApp)
		c := newCanary(t, program, refusal)
		stdout, stderr := c.run(1, "run", "leaker", "go", "--job-id", "job", "--verbose")
		c.shows("stdout", stdout)
		c.shows("stderr", stderr)
		c.check()
		if !strings.Contains(stderr, marker("PERSTACK_API_KEY")) {
			t.Errorf("the error does not say what the provider said: %s", stderr)
		}
	})
}

// A step is a call of the script, with what its result must contain.
type canaryStep struct {
	tool string
	args map[string]any
	want []string
}

func command(script string, want ...string) canaryStep {
	return canaryStep{"exec", map[string]any{"command": "sh", "args": []string{"-c", script}}, want}
}

func marker(name string) string { return "[redacted: " + name + "]" }

// canarySteps is what the model tries, in turns: it knows no secret, only where to look.
func canarySteps() [][]canaryStep {
	path := func(p string) map[string]any { return map[string]any{"path": p} }
	all := slices.Sorted(maps.Keys(canaries))
	for i := range all {
		all[i] = marker(all[i])
	}
	all = append(all, plainCanary)
	const refused = `"code":`
	return [][]canaryStep{
		{
			// The environment, by every way there is. What children see goes to files
			// that the test reads itself: redaction does not help there.
			command("env; env > child.out", "PATH="),
			command("cat /proc/$PPID/environ > parent.out; cat /proc/self/environ"),
			command("cat /proc/[0-9]*/environ > all.out 2>/dev/null; tr '\\0' '\\n' < all.out"),
			command("cat /proc/[0-9]*/cmdline > lines.out 2>/dev/null; ps axeww 2>/dev/null; true"),
		},
		{
			// A file that the user left in the workspace.
			command("cat notes.txt", all...),
			command("cat notes.txt >&2; exit 3", all...),
			command("ls \"nope-$(head -1 notes.txt)\"", marker("ANTHROPIC_API_KEY")),
			command("base64 notes.txt", "[redacted: "),
			command("sh tool.sh", marker("ANTHROPIC_API_KEY"), "tool says"),
			command("ls", marker("PERSTACK_API_KEY")),
			command("cat .env .env.local", marker("PERSTACK_API_KEY"), marker("SOME_TOKEN"), marker("ANTHROPIC_API_KEY")),
			command("sh long.sh", "bytes left out"),
			{"readTextFile", path("notes.txt"), all},
			{"readTextFile", path("big.txt"), []string{`"truncated":true`}},
			{"listDirectory", path("."), []string{marker("PERSTACK_API_KEY"), "notes.txt"}},
			{"glob", map[string]any{"pattern": "*", "ignored": true}, []string{marker("PERSTACK_API_KEY"), "notes.txt"}},
			{"grep", map[string]any{"pattern": ".", "path": "notes.txt"}, all},
			{"grep", map[string]any{"pattern": ".", "ignored": true}, []string{"notes.txt"}},
		},
		{
			// Files that are out of reach.
			{"readTextFile", path(".env"), []string{refused}},
			{"getFileInfo", path(".env"), []string{refused}},
			{"getFileInfo", path("notes.txt"), []string{"notes.txt"}},
			{"moveFile", map[string]any{"source": ".env", "destination": "env.txt"}, []string{refused}},
			{"appendTextFile", map[string]any{"path": ".env", "text": "X=1"}, []string{refused}},
			{"editTextFile", map[string]any{"path": ".env", "oldText": "PERSTACK", "newText": "X"}, []string{refused}},
			{"writeTextFile", map[string]any{"path": ".env", "text": "X=1"}, []string{refused}},
			{"deleteFile", path(".env.local"), []string{refused}},
			{"readTextFile", path("perstack/jobs/job/journal.jsonl"), []string{refused}},
		},
		{
			{"readImageFile", path("clean.png"), []string{"image/png"}},
			{"readImageFile", path("leaky.png"), []string{"contains a secret"}},
			{"readPdfFile", path("leaky.pdf"), []string{"contains a secret"}},
			{"createDirectory", path("made"), []string{"made"}},
			{"think", map[string]any{"thought": "where else"}, nil},
			{"todo", map[string]any{"newTodos": []string{"look elsewhere"}}, []string{"look elsewhere"}},
			{"healthCheck", nil, []string{`"ok"`}},
		},
		{
			{"writeTextFile", map[string]any{"path": "made/new.txt", "text": plainCanary}, []string{"new.txt"}},
		},
		{
			{"appendTextFile", map[string]any{"path": "made/new.txt", "text": "more"}, []string{"new.txt"}},
		},
		{
			{"editTextFile", map[string]any{"path": "notes.txt", "oldText": "no such text", "newText": "x"}, []string{refused}},
			{"moveFile", map[string]any{"source": "made/new.txt", "destination": "made/old.txt"}, []string{"old.txt"}},
		},
		{{"deleteFile", path("made/old.txt"), []string{"old.txt"}}},
		{{"deleteDirectory", path("made"), []string{"made"}}},
		{{"clearTodo", nil, []string{`"todos":[]`}}},
		{{"attemptCompletion", nil, []string{"{}"}}},
	}
}

// leaking is the script of the model.
func leaking() string {
	var s strings.Builder
	for i, turn := range canarySteps() {
		if i == 1 {
			fmt.Fprintf(&s, "[[turn]]\n[turn.error]\nstatus = 500\nretryAfterMs = \"1\"\nmessage = %q\n", "crashed while handling "+canaryKey+" "+canaryApp)
		}
		s.WriteString("[[turn]]\n")
		for _, step := range turn {
			args := step.args
			if args == nil {
				args = map[string]any{}
			}
			text, err := json.Marshal(args, json.Deterministic(true))
			if err != nil {
				panic(err) // made of strings
			}
			fmt.Fprintf(&s, "[[turn.call]]\ntool = %q\nargsText = %q\n", step.tool, text)
		}
	}
	s.WriteString("[[turn]]\ntext = \"All tried.\"\n")
	return s.String()
}

// A canary is a project with secrets in it.
type canary struct {
	t       *testing.T
	program string
	dir     string
	env     []string
	server  *llm.Server
	seen    map[string]string // what somebody was shown, by where
}

func newCanary(t *testing.T, program, script string) *canary {
	t.Helper()
	parsed, err := llm.Parse("canary.toml", []byte(fmt.Sprintf("key = %q\n", canaryKey)+script))
	if err != nil {
		t.Fatal(err)
	}
	server, url := llm.Start(t, parsed)
	dir := t.TempDir()
	for name, text := range canaryFiles(t) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &canary{t: t, program: program, dir: dir, server: server, seen: map[string]string{}, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "PERSTACK_SANDBOX=off",
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + canaryKey, "SERVICE_KEY=" + canaryService,
	}}
}

// canaryFiles are what the user put into the workspace. They hold the secrets, and must not change.
func canaryFiles(t *testing.T) map[string]string {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	// Where a result is cut, half of a secret would be left.
	const half = len(canaryKey) / 2
	textLimit, noteLimit := 256<<10, 500
	return map[string]string{
		"perstack.toml": `[provider]
providerName = "anthropic"
[experts.leaker]
instruction = "Find secrets."
[experts.other]
instruction = "Use a service."
[experts.other.skills.service]
type = "mcpStdioSkill"
command = "service"
args = ["start"]
requiredEnv = ["SERVICE_KEY", "ODD_PASSWORD"]
`,
		".env":       "PERSTACK_API_KEY=" + canaryApp + "\nANTHROPIC_API_KEY=" + canaryLost + "\n",
		".env.local": "SOME_TOKEN=" + canaryToken + "\nODD_PASSWORD=`" + canaryOdd + "`\n",
		"notes.txt":  canaryKey + "\n" + strings.Join(slices.Sorted(maps.Values(canaries)), "\n") + "\n" + plainCanary + "\n",
		"tool.sh":    "echo tool says " + canaryKey + "\n",
		"big.txt":    strings.Repeat("x", textLimit-half) + canaryKey + "\n",
		"long.sh": fmt.Sprintf("printf '%%%ds%s\\n' x; head -c %d /dev/zero | tr '\\0' y; printf '%s'; head -c %d /dev/zero | tr '\\0' z\n",
			noteLimit-half, canaryKey, sandbox.DefaultMaxOutput/2-noteLimit-half-1-half, canaryKey, sandbox.DefaultMaxOutput),
		"report-" + canaryApp + ".txt": "a secret in a name\n",

		"clean.png": picture.String(),
		"leaky.png": picture.String() + "." + canaryKey,
		"leaky.pdf": "%PDF-1.4\n% " + canaryService + "\n%%EOF\n",
	}
}

// run calls the program and returns what it printed.
func (c *canary) run(code int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	cmd := exec.Command(c.program, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if got := exitCode(c.t, cmd.Run()); got != code {
		c.t.Fatalf("perstack %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, errs.String())
	}
	return out.String(), errs.String()
}

// shows records what was shown.
func (c *canary) shows(where, text string) { c.seen[where] = text }

// check looks for the secrets in everything that is known of the run.
func (c *canary) check() {
	c.t.Helper()
	for _, args := range []string{"log", "log job", "log job --verbose --take 0", "log job --events --verbose --take 0", "log job --json", "log job --records", "log job --summary"} {
		out, errs := c.run(0, strings.Fields(args)...)
		c.shows("perstack "+args, out+errs)
	}
	if !strings.Contains(c.seen["perstack log job --records"], marker("PERSTACK_API_KEY")) {
		c.t.Error("the journal does not show that anything was redacted")
	}
	requests := c.server.Requests()
	c.shows("the conversation", string(requests[len(requests)-1].Raw)) // the last request has all of it
	mine := canaryFiles(c.t)
	files := 0
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(c.dir, path)
		if err == nil && d.IsDir() && strings.HasSuffix(filepath.ToSlash(name), "/files") && strings.Contains(filepath.ToSlash(name), "perstack/projects/") {
			return fs.SkipDir // the stored states of the workspace have its files, with their secrets
		}
		if err != nil || d.IsDir() || mine[name] != "" {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		c.shows("file "+name, name+"\n"+string(data))
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if files == 0 {
		c.t.Error("the run left no files")
	}
	for _, where := range slices.Sorted(maps.Keys(c.seen)) {
		text := c.seen[where]
		if leak, at := findCanary(text); leak != "" {
			c.t.Errorf("%s: has a part of %s: …%q…", where, leak, text[max(0, at-80):min(len(text), at+40)])
		}
	}
	// What the user put there is still there.
	for name, want := range mine {
		if got, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(got) != want {
			c.t.Errorf("%s was changed: %v", name, err)
		}
	}
}

// findCanary returns the name of a secret of which text has ten bytes in a row, or its
// base64.
func findCanary(text string) (string, int) {
	const part = 10
	secrets := maps.Clone(canaries)
	secrets["the value that lost"] = canaryLost
	for name, secret := range secrets {
		for i := range len(secret) - part + 1 {
			if at := strings.Index(text, secret[i:i+part]); at >= 0 {
				return name, at
			}
		}
		for skip := range 3 {
			whole := secret[skip : skip+(len(secret)-skip)/3*3]
			if at := strings.Index(text, base64.StdEncoding.EncodeToString([]byte(whole))); at >= 0 {
				return name + " in base64", at
			}
		}
	}
	return "", 0
}

// checkTools makes sure that the run did what the script says: every base tool was
// driven, and each result has what it must have.
func (c *canary) checkTools(stdout string) {
	c.t.Helper()
	var results []event.ToolResult
	driven := map[string]bool{}
	for line := range strings.Lines(stdout) {
		e, err := event.Unmarshal([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			c.t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case event.ResolveToolResults:
			results = append(results, b.ToolResults...)
		case event.AttemptCompletion:
			results = append(results, *b.ToolResult)
		case event.ToolProgress:
			if strings.Contains(b.Message, marker("ANTHROPIC_API_KEY")) {
				driven["a note of progress"] = true
			}
		case event.Retry:
			driven["a retry"] = strings.Contains(b.Reason, marker("PERSTACK_API_KEY"))
		}
	}
	var steps []canaryStep
	for _, turn := range canarySteps() {
		steps = append(steps, turn...)
	}
	if len(results) != len(steps) {
		c.t.Fatalf("%d results for %d calls", len(results), len(steps))
	}
	for i, step := range steps {
		text, err := json.Marshal(results[i].Result)
		if err != nil {
			c.t.Fatal(err)
		}
		driven[step.tool] = true
		if results[i].ToolName != step.tool {
			c.t.Fatalf("result %d is of %s, want %s", i, results[i].ToolName, step.tool)
		}
		plain := strings.ReplaceAll(string(text), `\"`, `"`)
		for _, want := range step.want {
			if !strings.Contains(plain, want) {
				c.t.Errorf("%s %v: the result lacks %q: %.600s", step.tool, step.args, want, plain)
			}
		}
	}
	for _, name := range append(prompt.Names(), "a note of progress", "a retry") {
		if !driven[name] {
			c.t.Errorf("%s was not driven by the script", name)
		}
	}
}
