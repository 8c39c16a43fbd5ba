package test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// planter is a project whose expert runs a shell script.
func planter(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"perstack.toml": slow["perstack.toml"] + "[experts.quiet]\ninstruction = \"Say nothing.\"\n",
		"cassette.toml": fmt.Sprintf("[[turn]]\nexpert = \"writer\"\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", %q], timeout = 0 }\n"+
			"[[turn]]\nexpert = \"writer\"\ntext = \"Done.\"\n[[turn]]\nexpert = \"quiet\"\ntext = \"Done.\"\n", script),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runIn runs perstack, and returns what it printed and its exit code.
func runIn(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "perstack", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), exitCode(t, err)
}

// After kill -9, the next start finds out what the job did to trusted files, and whose they are
// is not forgotten when the workspace is made read-only. At level full a program cannot change
// those that exist, but others appear.
func TestTrustAfterKill(t *testing.T) {
	for level, touched := range map[string][]string{"off": {"perstack.toml", ".env"}, "full": {".env"}} {
		t.Run(level, func(t *testing.T) { trustAfterKill(t, level, touched) })
	}
	attack.Held(t, "T5", 2)
}

func trustAfterKill(t *testing.T, level string, touched []string) {
	dir := planter(t, "mkdir out; echo A=b >.env; echo '# x' >>perstack.toml; mkdir -p .git/hooks .git/objects .git/refs; echo ref >.git/HEAD; echo x >.git/hooks/pre-commit; "+
		"chmod 755 .git/hooks/pre-commit; chmod 555 .; touch out/made; exec sleep 1000")
	made := filepath.Join(dir, "out/made")
	cmd := exec.Command("perstack", "run", "writer", "go", "--job-id", "job", "--sandbox="+level)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	waitFor(t, func() bool { _, err := os.Stat(made); return err == nil })
	// While the job runs, other commands do not read what it wrote.
	if out, code := runIn(t, dir, "run", "quiet", "go"); code != 2 || !strings.Contains(out, touched[0]+" ") || !strings.Contains(out, "job job (still running)") {
		t.Errorf("while it runs: %d, %s", code, out)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	out, code := runIn(t, dir, "run", "quiet", "go")
	for _, want := range []string{
		touched[0] + " ", "job job (ended", "perstack: .env appeared while job job ran",
		"git configuration or hooks changed while job job ran", ".git (new), .git/hooks/pre-commit (new)",
	} {
		if code != 2 || !strings.Contains(out, want) {
			t.Errorf("after the kill: %d, no %q in\n%s", code, want, out)
		}
	}
	for i, file := range touched {
		if out, code := runIn(t, dir, "run", "quiet", "go"); code != 2 || !strings.Contains(out, "perstack trust "+file) {
			t.Errorf("step %d: %d, %s", i, code, out)
		}
		if out, code := runIn(t, dir, "trust", file); code != 0 {
			t.Fatalf("trust %s: %d, %s", file, code, out)
		}
	}
	if out, code := runIn(t, dir, "run", "quiet", "go"); code != 0 {
		t.Errorf("accepted: %d, %s", code, out)
	}
}

// A file that changes after perstack has read it and before the first program starts stops the run:
// a program of another job in the workspace can change it then.
func TestTrustTimeOfCheck(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"perstack.toml": func(path string) error { return os.WriteFile(path, []byte("# planted"), 0o644) },
		"perstack.lock": func(path string) error { return os.WriteFile(path, []byte("planted"), 0o644) },
		".env":          os.Remove,
		".env.local":    func(path string) error { return os.WriteFile(path, []byte("A=b"), 0o644) },
	} {
		dir := planter(t, "true")
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("A=b"), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "perstack", "run", "quiet", "--job-id", "job")
		cmd.Dir = dir
		query, err := cmd.StdinPipe() // perstack reads it when it has read all files
		if err != nil {
			t.Fatal(err)
		}
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stderr)
		if !lines.Scan() || !strings.Contains(lines.Text(), "standard input") {
			t.Errorf("%s: %s", name, lines.Text())
		}
		if err := change(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := query.Write([]byte("go")); err != nil {
			t.Fatal(err)
		}
		query.Close()
		var rest []string
		for lines.Scan() {
			rest = append(rest, lines.Text())
		}
		if code := exitCode(t, cmd.Wait()); code != 2 || !strings.Contains(strings.Join(rest, "\n"), name+" changed after perstack had read it; nothing was started") {
			t.Errorf("%s: %d, %q", name, code, rest)
		}
	}
}

// On a terminal the user is asked once about all files. Only a yes accepts them, and a signal ends
// the question.
func TestTrustQuestion(t *testing.T) {
	dir := planter(t, "echo A=b >.env; echo '# x' >>perstack.toml")
	if out, code := runIn(t, dir, "run", "writer", "go", "--job-id", "job"); code != 0 {
		t.Fatalf("%d, %s", code, out)
	}
	for _, tt := range []struct {
		typed string
		code  int
	}{{"\n", 2}, {"n\n", 2}, {"maybe\n", 2}, {"\x04", 2}, {"\x03", 130}, {"yes\n", 0}, {"", 0}} {
		var answers []testkit.Answer
		if tt.typed != "" {
			answers = []testkit.Answer{
				{After: "perstack.toml was changed during job job"}, {After: ".env did not exist before job job"},
				{After: "Look at them first. Use them now? [y/N] ", Type: tt.typed},
			}
		}
		cmd := exec.Command("perstack", "run", "quiet", "go")
		cmd.Dir = dir
		out, err := testkit.OnTerminal(cmd, answers...)
		if code := exitCode(t, err); code != tt.code {
			t.Errorf("%q: %d, want %d:\n%s", tt.typed, code, tt.code, out)
		}
		if asked := strings.Count(string(out), "[y/N]"); asked != len(answers)/3 {
			t.Errorf("%q: asked %d times:\n%s", tt.typed, asked, out)
		}
	}
}

// What a command puts in the place of perstack.toml keeps neither this run from ending nor the
// next one from starting. It cannot be accepted, but its deletion can.
func TestConfigReplacedByWhatNeverEnds(t *testing.T) {
	for name, tt := range map[string]struct{ script, what string }{
		"pipe":   {"rm perstack.toml; mkfifo perstack.toml", "perstack.toml is a pipe, which perstack never reads"},
		"device": {"ln -sf /dev/zero perstack.toml", "perstack.toml leads to a device, which perstack never reads"},
		"sparse": {"truncate -s 1T perstack.toml", "perstack.toml cannot be read: larger than 32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := planter(t, tt.script)
			path := filepath.Join(dir, "perstack.toml")
			config, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if out, code := runIn(t, dir, "run", "writer", "go"); code != 0 || !strings.Contains(out, "perstack.toml was changed while job") {
				t.Fatalf("%d, %s", code, out)
			}
			if out, code := runIn(t, dir, "trust", "perstack.toml"); code != 2 || !strings.HasSuffix(out, tt.what+", so it cannot be accepted; delete it, or put a readable file in its place\n") {
				t.Errorf("trust: %d, %s", code, out)
			}
			cmd := exec.Command("perstack", "run", "quiet", "go")
			cmd.Dir = dir
			if out, err := testkit.OnTerminal(cmd); exitCode(t, err) != 2 || strings.Contains(string(out), "[y/N]") {
				t.Errorf("the next run, on a terminal: %v, %s", err, out)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if out, code := runIn(t, dir, "trust", "perstack.toml"); code != 0 || !strings.Contains(out, "Accepted perstack.toml: no file") {
				t.Errorf("deleted: %d, %s", code, out)
			}
			if err := os.WriteFile(path, append(config, "# mine\n"...), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, code := runIn(t, dir, "run", "quiet", "go"); code != 0 {
				t.Errorf("a new file of the user: %d, %s", code, out)
			}
		})
	}
	attack.Held(t, "T9", 3)
}

// A second signal ends perstack, whatever it waits for.
func TestSecondSignalAlwaysEnds(t *testing.T) {
	dir := planter(t, "true")
	full, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	defer w.Close()
	fd := int(w.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = syscall.Write(fd, make([]byte, 1<<10))
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	silent, err := net.Listen("unix", socket) // it accepts connections, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if os.Geteuid() == 0 { // no container runs as root
		if err := os.Chown(dir, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "skill.toml"), []byte(slow["perstack.toml"]+
		"[experts.writer.skills.deaf]\ntype = \"mcpStdioSkill\"\ncommand = \"sh\"\nargs = [\"-c\", \"trap '' TERM INT; while :; do sleep 1; done\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	type stuck struct {
		args           []string
		stdout, stderr *os.File
		env            string
	}
	cases := map[string]stuck{
		"output that is not read":  {args: []string{"log", "--help"}, stdout: w},
		"errors that are not read": {args: []string{"run", "nobody", "go"}, stderr: w},
		"a query from a pipe":      {args: []string{"run", "writer", "--query-file", "pipe"}, stderr: w},
		"install":                  {args: []string{"install", "--config", "skill.toml"}},
		"docker":                   {args: []string{"run", "writer", "go", "--runtime", "docker"}, env: "DOCKER_HOST=unix://" + socket},
		"mcp base":                 {args: []string{"mcp", "base"}, stderr: w},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("perstack", c.args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), c.env)
			stdin, err := cmd.StdinPipe() // open, and never written to
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			if c.stdout != nil {
				cmd.Stdout = c.stdout
			}
			if c.stderr != nil {
				cmd.Stderr = c.stderr
			}
			endsBySignals(t, cmd)
		})
	}
	attack.Held(t, "T9", 1)
}

// caught waits until a process has a handler for SIGTERM.
func caught(t *testing.T, pid int) {
	t.Helper()
	waitFor(t, func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(status)) {
			var mask uint64
			if _, err := fmt.Sscanf(line, "SigCgt: %x", &mask); err == nil {
				return mask&(1<<(syscall.SIGTERM-1)) != 0
			}
		}
		return false
	})
}

// endsBySignals starts a command and sends signals until it ends.
func endsBySignals(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	caught(t, cmd.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	watchdog := time.After(time.Minute)
	for signals := 0; ; signals++ {
		select {
		case err := <-ended:
			if code := exitCode(t, err); code != 143 {
				t.Errorf("exit code %d after %d signals, want 143", code, signals)
			}
			return
		case <-watchdog:
			_ = cmd.Process.Kill()
			t.Fatal("it survives signals")
		case <-time.After(100 * time.Millisecond):
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone by now
		}
	}
}
