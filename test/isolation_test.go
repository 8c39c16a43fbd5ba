//go:build unix

package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// The Experts of the isolation run. The lead asks two others at once, of which one asks
// a third.
var isolated = []string{"lead", "reader", "middle", "deep"}

// words are what only one Expert has: they are in its instruction, its thoughts, its
// remarks, its arguments, its todo list and in what its tools return.
func words(name string) string { return "canary-" + name + "-7Hq2" }

// R1: what one Expert has in its conversation is in no request of another, on the wire of
// a real provider: not at first, not when the job continues, not on a branch.
func TestIsolation(t *testing.T) {
	script, err := llm.Parse("isolation", []byte(isolationScript()))
	if err != nil {
		t.Fatal(err)
	}
	server, url := llm.Start(t, script)
	dir := t.TempDir()
	file := "maxParallel = 4\n"
	for _, name := range isolated {
		file += fmt.Sprintf("[experts.%s]\ndescription = \"Works.\"\ninstruction = \"You are %s. %s\"\n", name, name, words(name))
		switch name {
		case "lead":
			file += "delegates = [\"reader\", \"middle\"]\n"
		case "middle":
			file += "delegates = [\"deep\"]\n"
		}
		write(t, filepath.Join(dir, name+".txt"), words(name))
	}
	write(t, filepath.Join(dir, "perstack.toml"), file)
	perstack := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("perstack", args...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "HOME="+dir, "ANTHROPIC_API_KEY="+llm.Key, "ANTHROPIC_BASE_URL="+url)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if out := perstack("run", "lead", "go: "+words("lead"), "--job-id", "job", "--output", "text"); !strings.Contains(out, "All done.") {
		t.Fatalf("the run ended with %s", out)
	}
	checkIsolation(t, server, map[string]int{"lead": 4, "reader": 4, "middle": 5, "deep": 4})
	before := server.Count()
	if out := perstack("run", "lead", "again: "+words("lead"), "--continue-job", "job", "--output", "text"); !strings.Contains(out, "Done again.") {
		t.Fatalf("the job continued with %s", out)
	}
	perstack("run", "--continue-job", "job", "--resume-from", checkpointOf(t, dir, "deep"), "--output", "text")
	if got := server.Count(); got < before+4 {
		t.Errorf("the branch asked the model %d times; it continues with all three of a path", got-before-1)
	}
	checkIsolation(t, server, nil)
}

// checkIsolation looks for the words of each Expert in all that was sent for the others.
func checkIsolation(t *testing.T, server *llm.Server, want map[string]int) {
	t.Helper()
	asked := map[string]int{}
	for i, r := range server.Requests() {
		who := slices.IndexFunc(isolated, func(name string) bool { return strings.Contains(r.System(), "You are "+name+".") })
		if who < 0 || r.Problem != "" {
			t.Fatalf("request %d: of no Expert, or refused: %s", i, r.Problem)
		}
		asked[isolated[who]]++
		for _, name := range isolated {
			if found := strings.Contains(string(r.Raw), words(name)); found != (name == isolated[who]) {
				t.Errorf("request %d of %s: the words of %s are there: %t", i, isolated[who], name, found)
			}
		}
	}
	for name, n := range want {
		if asked[name] != n {
			t.Errorf("%s asked its model %d times, want %d", name, asked[name], n)
		}
	}
}

// checkpointOf is the first checkpoint of an Expert.
func checkpointOf(t *testing.T, dir, expert string) string {
	t.Helper()
	cmd := exec.Command("perstack", "log", "job", "--tree", "--json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, fmt.Sprintf("\"expertKey\":%q", expert)) {
			continue
		}
		_, ids, _ := strings.Cut(line, `"checkpoints":["`)
		id, _, _ := strings.Cut(ids, `"`)
		return id
	}
	t.Fatalf("no Run of %s in %s", expert, out)
	return ""
}

// isolationScript has each Expert use its words in every way there is, except in queries and
// answers.
func isolationScript() string {
	var b strings.Builder
	turn := func(name, more string) {
		fmt.Fprintf(&b, "[[turn]]\nsystem = \"You are %s.\"\n%s\n", name, more)
	}
	call := func(tool, args string) string {
		return fmt.Sprintf("[[turn.call]]\ntool = %q\nargs = { %s }\n", tool, args)
	}
	for _, name := range isolated {
		say := fmt.Sprintf("reasoning = %q\ntext = %q\n", words(name), words(name))
		turn(name, say+call("todo", fmt.Sprintf("newTodos = [%q]", words(name)))+call("think", fmt.Sprintf("thought = %q", words(name))))
		turn(name, say+call("readTextFile", fmt.Sprintf("path = %q", name+".txt"))+call("exec", fmt.Sprintf(`command = "echo", args = [%q]`, words(name))))
		switch name {
		case "lead":
			turn(name, say+call("reader", `query = "Read."`)+call("middle", `query = "Ask."`))
			turn(name, "text = \"All done.\"")
			turn(name, "text = \"Done again.\"")
		case "middle":
			turn(name, say+call("deep", `query = "Dig."`))
			turn(name, call("todo", "completedTodos = [0]"))
			turn(name, "text = \"Asked.\"")
		default:
			turn(name, call("todo", "completedTodos = [0]"))
			turn(name, "text = \"Worked.\"")
		}
	}
	return b.String()
}
