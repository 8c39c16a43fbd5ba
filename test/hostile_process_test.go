//go:build linux

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/rawjson"
)

// hostileRun is a run whose Expert executes one command with the hostile program, at a level.
func hostileRun(t *testing.T, level string, command ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "perstack.toml"), slow["perstack.toml"])
	write(t, filepath.Join(dir, "cassette.toml"), fmt.Sprintf("[[turn]]\n[[turn.call]]\nid = \"evil\"\ntool = \"exec\"\nargsText = %s\n[[turn]]\ntext = \"Worked.\"\n",
		quoted(t, string(encoded(t, map[string]any{"command": command[0], "args": command[1:], "timeout": 0})))))
	cmd := exec.CommandContext(t.Context(), program(t), "run", "writer", "go", "--events", "lean", "--sandbox="+level)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PATH="+filepath.Dir(evil.Program(t))+":"+os.Getenv("PATH"))
	return cmd
}

// hostileProgram is the hostile program in the PATH of a hostileRun.
const hostileProgram = "evilmcp"

const hostileMarker = "canary-of-the-runtime"

// hunting adds what is hunted for to the environment of a run.
func hunting(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=sk-ant-"+hostileMarker+"-Ab1xYz93", "OTHER_TOKEN=tok-"+hostileMarker)
}

// A command hunts for the keys of the runtime, in the environment, the memory, the open
// files and the env files of every process above it, and finds none. That the hunt can
// find them is shown by evil.TestHuntInProcesses.
func TestHostileHunt(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		cmd := hostileRun(t, level, hostileProgram, "hunt", "--marker", hostileMarker, "--levels", "2", "now")
		hunting(cmd)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		checkHunt(t, level, cmd.Process.Pid, hunted(t, out))
	})
}

// checkHunt checks that a hunt below perstack, which had that process id, found nothing.
func checkHunt(t *testing.T, level string, perstack int, found []evil.Find) {
	t.Helper()
	if level == "full" {
		perstack = 1 // the only process of perstack that programs see there
	}
	denied := 0
	for _, f := range found {
		switch {
		case f.Who == "self" && strings.HasPrefix(filepath.Base(f.Place), "environ"): // what it was given
		case f.Who == "self" || strings.HasSuffix(f.Place, "/cmdline"):
			continue // the hunter's own command line has the marker
		case strings.HasPrefix(f.Place, fmt.Sprintf("/proc/%d/", os.Getpid())):
			continue // this test, which is not part of a run
		case strings.HasSuffix(f.Place, "/fd"):
			continue // root may list the numbers; what is behind them is a place of its own
		case strings.HasPrefix(f.Place, fmt.Sprintf("/proc/%d/", perstack)) || f.Place == fmt.Sprintf("ptrace %d", perstack):
			if f.Error != "denied" {
				t.Errorf("%s of perstack can be read: %+v", f.Place, f)
			}
			denied++
		case level == "full" && strings.HasPrefix(f.Place, "/proc/"):
			t.Errorf("another process is visible: %+v", f)
		}
		if len(f.Planted) > 0 {
			t.Errorf("%s (%s) gives away %q", f.Place, f.Who, f.Planted)
		}
	}
	if denied < 3 { // environ, mem, ptrace
		t.Errorf("perstack was not looked at: %+v", found)
	}
}

// hunted returns what the command found.
func hunted(t *testing.T, lines []byte) (found []evil.Find) {
	t.Helper()
	for line := range strings.Lines(string(lines)) {
		var record struct {
			Event rawjson.Value `json:"event"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		e, err := event.Unmarshal(record.Event)
		if err != nil {
			t.Fatal(err)
		}
		end, ok := e.Body.(event.EndToolCall)
		if !ok {
			continue
		}
		var result struct {
			Output string `json:"output"`
		}
		if err := json.Unmarshal([]byte(end.ToolResult.Result[0].Text), &result); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(result.Output), &found); err != nil {
			t.Fatalf("%v in %s", err, end.ToolResult.Result[0].Text)
		}
	}
	return found
}

// What a command left behind is gone when the run is over: a daemon that has left its
// session and its parent, and the tree of a fork bomb.
func TestHostileProcessesDoNotOutliveTheRun(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		for name, args := range map[string][]string{"daemon": {"daemonise"}, "fork bomb": {"forkbomb", "12"}} {
			cmd := hostileRun(t, level, append(append([]string{hostileProgram}, args...), "alive")...)
			file := filepath.Join(cmd.Dir, "alive")
			if out, err := cmd.Output(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := os.Stat(file); err != nil {
				t.Fatalf("%s never lived: %v", name, err)
			}
			if alive, err := evil.Alive(file); alive || err != nil {
				t.Errorf("%s outlived the run (%v)", name, err)
				os.Remove(file)
			}
		}
	})
}

// The same when perstack is killed in a way that it cannot notice.
func TestHostileProcessesDoNotOutliveAKilledRun(t *testing.T) {
	eachLevel(t, func(t *testing.T, level string) {
		cmd := hostileRun(t, level, "sh", "-c", hostileProgram+" daemonise alive && : > ready && sleep 60")
		file, ready := filepath.Join(cmd.Dir, "alive"), filepath.Join(cmd.Dir, "ready")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the daemon", func() bool { _, err := os.Stat(ready); return err == nil })
		if alive, err := evil.Alive(file); !alive || err != nil {
			t.Fatalf("it never lived: %v", err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the run was not killed")
		}
		await(t, "the end of the daemon", func() bool { alive, err := evil.Alive(file); return !alive && err == nil })
	})
}

// await polls for something without a notification.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
