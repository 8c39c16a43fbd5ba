package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

const consentQuestion = "or with other code. [y/N] "

// A consenting is a project that asks for something, and a user with a terminal and no
// configuration.
type consenting struct {
	t   *testing.T
	dir string
	env []string
}

func newConsenting(t *testing.T) *consenting {
	c := &consenting{t: t, dir: t.TempDir()}
	home := t.TempDir()
	c.env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+filepath.Join(home, "state"), "GITHUB_TOKEN=ghp_0123456789abcdefghij")
	c.write("cassette.toml", strings.Repeat("[[turn]]\ntext = \"Done.\"\n", 2))
	c.write("perstack.toml", "maxSteps = 500\n[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help.\"\n")
	return c
}

func (c *consenting) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// run runs the Expert on a terminal, where the user types keys if there is a question.
func (c *consenting) run(keys string, args ...string) (screen string, code int) {
	c.t.Helper()
	cmd := exec.Command("perstack", append([]string{"run", "helper", "go", "--output", "text"}, args...)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := testkit.OnTerminal(cmd, testkit.Answer{After: consentQuestion, Type: keys})
	return string(out), exitCode(c.t, err)
}

func (c *consenting) want(keys string, asked bool, code int, args ...string) string {
	c.t.Helper()
	screen, got := c.run(keys, args...)
	if strings.Contains(screen, consentQuestion) != asked || got != code || (code == 0) != strings.Contains(screen, "Done.") {
		c.t.Errorf("asked: want %v; exit code %d, want %d:\n%s", asked, got, code, screen)
	}
	return screen
}

// The question has one answer that means yes, and it is asked once for each list of requests.
func TestConsentOnTerminal(t *testing.T) {
	c := newConsenting(t)
	for _, no := range []string{"\n", "n\n", "x\n", "yy\n", "\x04"} {
		if screen := c.want(no, true, 2); !strings.Contains(screen, "not allowed; nothing was started") {
			t.Errorf("%q: %s", no, screen)
		}
	}
	screen := c.want("y\n", true, 0)
	if !strings.Contains(screen, "limits: maxSteps is 500, instead of 100 (perstack.toml:1)") {
		t.Error(screen)
	}
	c.want("", false, 0)
	c.want("", false, 0, "--continue")

	// An unrelated edit does not change the list, although it moves it.
	const rest = "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help a lot.\"\n"
	c.write("perstack.toml", "# my project\n\nmaxSteps = 500\n"+rest)
	c.want("", false, 0)
	// Another value does, even when the job is resumed; what is left after a removal does not.
	c.write("perstack.toml", "maxSteps = 501\n"+rest)
	c.want("\n", true, 2)
	c.write("perstack.toml", "maxSteps = 500\nmaxDepth = 9\n"+rest)
	c.want("\n", true, 2)
	c.want("yes\n", true, 0)
	c.write("perstack.toml", "maxDepth = 9\n"+rest)
	c.want("", false, 0)
}

// A variable is handed to the program that the user read about, and to no other.
func TestConsentIsForOneProgram(t *testing.T) {
	c := newConsenting(t)
	project := func(mode string) {
		c.write("perstack.toml", "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help.\"\n"+
			"[experts.helper.skills.github]\ntype = \"mcpStdioSkill\"\ncommand = \"sh\"\nargs = [\"-c\", \"touch started; exit "+mode+"\"]\nrequiredEnv = [\"GITHUB_TOKEN\"]\n")
	}
	project("1")
	started := filepath.Join(c.dir, "started")
	screen := c.want("\n", true, 2)
	if _, err := os.Stat(started); err == nil || !strings.Contains(screen, `your GITHUB_TOKEN for skill "github" (a program of this machine, and what sh -c can load beside that): sh -c "touch started; exit 1"`) {
		t.Errorf("%v: %s", err, screen)
	}
	if screen, code := c.run("y\n"); code != 1 || !strings.Contains(screen, consentQuestion) {
		t.Errorf("%d: %s", code, screen)
	}
	if _, err := os.Stat(started); err != nil {
		t.Error("it was allowed, and not started")
	}
	if screen, code := c.run(""); code != 1 || strings.Contains(screen, consentQuestion) {
		t.Errorf("asked again: %d: %s", code, screen)
	}
	project("2")
	c.want("\n", true, 2)
}

// Text of the file drives neither the terminal nor the question.
func TestConsentShowsHostileText(t *testing.T) {
	c := newConsenting(t)
	c.write("perstack.toml", "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help.\"\n"+
		"[experts.helper.skills.github]\ntype = \"mcpStdioSkill\"\ncommand = \"sh\"\nargs = [\"\\u001b[2J\\u001b]0;owned\\u0007\\r\\nAllow this? [y/N] y\\u202e\\u200b"+strings.Repeat("x", 5000)+"\"]\nrequiredEnv = [\"GITHUB_TOKEN\"]\n")
	screen := c.want("\n", true, 2)
	if strings.ContainsAny(screen, "\x1b\x07\u202e\u200b") || strings.Contains(screen, "\nAllow this? [y/N] y") {
		t.Errorf("%q", screen)
	}
	if !strings.Contains(screen, "  variables: your GITHUB_TOKEN for skill") || !strings.Contains(screen, strings.Repeat("x", 5000)) {
		t.Errorf("a part is out of sight: %q", screen)
	}
}

// A list that scrolls out of sight is no question.
func TestConsentIsReadable(t *testing.T) {
	c := newConsenting(t)
	c.write("perstack.toml", "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help.\"\n"+
		"[experts.helper.skills.github]\ntype = \"mcpStdioSkill\"\ncommand = \"sh\"\nargs = [\""+strings.Repeat("x ", 20_000)+"\"]\nrequiredEnv = [\"GITHUB_TOKEN\"]\n")
	if screen := c.want("y\n", false, 2); !strings.Contains(screen, "more than fit into a question") {
		t.Error(screen)
	}
}

// A commit that changes the code of a skill asks again, with a lockfile and without. Installing
// the same again does not.
func TestConsentIsForTheCode(t *testing.T) {
	c := newConsenting(t)
	server, err := os.ReadFile(evil.Program(t))
	if err != nil {
		t.Fatal(err)
	}
	code := func(more string) {
		t.Helper()
		path := filepath.Join(c.dir, "server", "mcp")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(slices.Clone(server), more...), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install := func(asked bool, args ...string) {
		t.Helper()
		cmd := exec.Command("perstack", append([]string{"install"}, args...)...)
		cmd.Dir, cmd.Env = c.dir, c.env
		out, err := testkit.OnTerminal(cmd, testkit.Answer{After: consentQuestion, Type: "y\n"})
		if err != nil || strings.Contains(string(out), consentQuestion) != asked {
			t.Errorf("%v: %s", err, out)
		}
	}
	code("")
	c.write("perstack.toml", "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help.\"\n"+
		"[experts.helper.skills.github]\ntype = \"mcpStdioSkill\"\ncommand = \"./server/mcp\"\nargs = [\"good\"]\nrequiredEnv = [\"GITHUB_TOKEN\"]\n")
	screen := c.want("y\n", true, 0)
	if !strings.Contains(screen, `your GITHUB_TOKEN for skill "github" (not pinned: 1 file in the workspace): ./server/mcp good`) {
		t.Error(screen)
	}
	c.want("", false, 0)
	code("1")
	c.want("\n", true, 2)

	install(true)
	c.want("", false, 0)
	install(false)
	install(false, "--update")
	c.want("", false, 0)
	code("2") // the lockfile refuses it, whatever the user would answer
	if screen := c.want("y\n", false, 2); !strings.Contains(screen, `skill "github" of "helper": its program has changed since it was installed`) || !strings.Contains(screen, "run: perstack install") {
		t.Error(screen)
	}
	install(true)
	c.want("", false, 0)
	if err := os.Remove(filepath.Join(c.dir, "perstack.lock")); err != nil {
		t.Fatal(err)
	}
	c.want("", false, 0) // the same files

	// The answer is about the code that was shown.
	code("3")
	cmd := exec.Command("perstack", "run", "helper", "go", "--output", "text")
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := testkit.OnTerminal(cmd, testkit.Answer{After: consentQuestion, Type: "y\n", Before: func() { code("4") }})
	if exitCode(t, err) != 2 || !strings.Contains(string(out), "changed while you were asked; nothing was started") {
		t.Errorf("%v: %s", err, out)
	}
	c.want("\n", true, 2)
}

// An answer about a skill in a sandbox is none about one that runs as the user.
func TestConsentInASandbox(t *testing.T) {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	c := newConsenting(t)
	if err := os.Mkdir(filepath.Join(c.dir, "server"), 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := os.ReadFile(evil.Program(t))
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "server", "mcp"), server, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.write("perstack.toml", "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help.\"\n"+
		"[experts.helper.skills.github]\ntype = \"mcpStdioSkill\"\ncommand = \"./server/mcp\"\nargs = [\"good\"]\nrequiredEnv = [\"GITHUB_TOKEN\"]\n")
	install := exec.Command("perstack", "install", "--sandbox=landlock")
	install.Dir, install.Env = c.dir, c.env
	out, err := testkit.OnTerminal(install, testkit.Answer{After: consentQuestion, Type: "y\n"})
	if err != nil || !strings.Contains(string(out), "can reach no host") {
		t.Errorf("%v: %s", err, out)
	}
	if screen, code := c.run("", "--sandbox=landlock"); code != 0 || strings.Contains(screen, consentQuestion) {
		t.Errorf("%d: %s", code, screen)
	}
	c.want("\n", true, 2)
}

// The user stops at the question, and nothing has happened.
func TestConsentInterrupted(t *testing.T) {
	c := newConsenting(t)
	if screen, code := c.run("\x03"); code != 130 || strings.Contains(screen, "Done.") {
		t.Errorf("%d: %s", code, screen)
	}
	c.want("y\n", true, 0)
}

// A question that the user would not see is not asked.
func TestConsentNeedsTheScreen(t *testing.T) {
	c := newConsenting(t)
	cmd := exec.Command("sh", "-c", "perstack run helper go --output text 2>log")
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := testkit.OnTerminal(cmd)
	log, readErr := os.ReadFile(filepath.Join(c.dir, "log"))
	if readErr != nil || exitCode(t, err) != 2 || !strings.Contains(string(log), "add --yes") {
		t.Errorf("%v, %v: %s%s", err, readErr, out, log)
	}
}

// The user's answer is the last word of neither the query nor the next one: what is typed after
// it belongs to the query.
func TestConsentLeavesTheQuery(t *testing.T) {
	c := newConsenting(t)
	cmd := exec.Command("perstack", "run", "helper", "-", "--json")
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := testkit.OnTerminal(cmd, testkit.Answer{After: consentQuestion, Type: "y\nthe query itself\n\x04"})
	if err != nil || !strings.Contains(string(out), `"text":"the query itself"`) {
		t.Errorf("%v: %s", err, out)
	}
}

// Answers in a state directory that is part of the workspace are not used: a repository could
// bring them along, since it knows what it asks for.
func TestConsentInTheWorkspaceIsNoAnswer(t *testing.T) {
	c := newConsenting(t)
	c.env = append(c.env, "XDG_STATE_HOME="+filepath.Join(c.dir, "state"))
	c.want("y\n", true, 0)
	c.want("\n", true, 2)
}

// What --storage names holds the history, and no answers.
func TestConsentIsNotMovedByStorage(t *testing.T) {
	c := newConsenting(t)
	storage := filepath.Join(c.dir, "history")
	c.want("y\n", true, 0, "--storage", storage)
	if _, err := os.Stat(filepath.Join(storage, "consent.json")); err == nil {
		t.Error("the answer went to the storage")
	}
	c.want("", false, 0)
}

// What was typed before the question is no answer to it.
func TestConsentDropsTypeAhead(t *testing.T) {
	c := newConsenting(t)
	// The shell reads nothing, so the line waits in the terminal until perstack asks.
	cmd := exec.Command("sh", "-c", "stty -echo; echo type now; while ! [ -e typed ]; do sleep 0.01; done; exec perstack run helper go --output text")
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := testkit.OnTerminal(cmd,
		testkit.Answer{After: "type now", Type: "y\n"},
		testkit.Answer{Before: func() { c.write("typed", "") }},
		testkit.Answer{After: consentQuestion, Type: "n\n"})
	if exitCode(t, err) != 2 || !strings.Contains(string(out), consentQuestion) {
		t.Errorf("%v: %s", err, out)
	}
}
