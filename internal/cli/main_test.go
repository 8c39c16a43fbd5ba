package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// An error is printed without the keys of the environment, and without anything that
// acts on a terminal.
func TestErrorsAreSafe(t *testing.T) {
	const key = "sk-canary-1234567890"
	var out, errs bytes.Buffer
	h := &host.Host{Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: []string{"ANTHROPIC_API_KEY=" + key}, Command: "perstack"}
	if code := Main(t.Context(), h, []string{"run", "--config", "no-\x1b[31m-" + key + "-such\u202e.toml", "x", "y"}); code != host.ExitUsage {
		t.Errorf("exit code %d", code)
	}
	got := out.String() + errs.String()
	if strings.Contains(got, key) || strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("printed %q", got)
	}
	if !strings.Contains(got, "no-") || !strings.Contains(got, "[redacted: ANTHROPIC_API_KEY]") {
		t.Errorf("the error does not name the file: %q", got)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

// A reader that has seen enough, such as head, gets no complaint.
func TestClosedOutputIsQuiet(t *testing.T) {
	dir := t.TempDir()
	const file = "[provider]\nproviderName = 'replay'\n[provider.setting]\ncassette = 'c.toml'\n[experts.a]\ninstruction = 'x'\n"
	for name, text := range map[string]string{"perstack.toml": file, "c.toml": "[[turn]]\ntext = 'a'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"version", "--version", "models", "models --json", "schema", "validate", "validate --json", "inspect a", "inspect a --json", "log", "completion bash"} {
		var errs bytes.Buffer
		h := &host.Host{Dir: dir, Home: t.TempDir(), Stdin: strings.NewReader(""), Stdout: closedPipe{}, Stderr: &errs, Command: "perstack", Source: engine.SystemSource()}
		if code := Main(t.Context(), h, strings.Fields(args)); code != host.ExitFailure || errs.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %q", args, code, errs.String())
		}
	}
}

// A query that does not come, because nothing closes the pipe, is waited for with a line that
// says so.
func TestWaitingForTheQueryIsTold(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte("provider.providerName = 'replay'\nprovider.setting.cassette = 'c.toml'\n[experts.a]\ninstruction = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open, end := io.Pipe()
	defer end.Close()
	told, says := io.Pipe()
	done := make(chan int)
	h := &host.Host{Dir: dir, Home: t.TempDir(), Stdin: open, Stdout: io.Discard, Stderr: says, Command: "perstack", Source: engine.SystemSource()}
	go func() {
		done <- Main(t.Context(), h, []string{"run", "a"})
	}()
	line, err := bufio.NewReader(told).ReadString('\n')
	if want := "perstack: reading the query from standard input; Ctrl-C stops\n"; err != nil || line != want {
		t.Errorf("%q, %v, want %q", line, err, want)
	}
	go io.Copy(io.Discard, told)
	end.Close()
	if code := <-done; code != host.ExitUsage {
		t.Errorf("exit code %d without a query", code)
	}
}

// A command is made under the name that it is found by, and without the others.
func TestOneCommandIsMade(t *testing.T) {
	h := &host.Host{Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Command: "perstack"}
	for _, c := range commands {
		made := newRoot(h, []string{c.name, "--help"}).Commands()
		if len(made) != 1 || made[0].Name() != c.name {
			t.Errorf("%s: %d commands, the first is %s", c.name, len(made), made[0].Name())
		}
	}
	for _, args := range [][]string{nil, {"help", "run"}, {"--help"}, {"rnu"}, {"completion", "bash"}, {"__complete", "r"}} {
		if made := newRoot(h, args).Commands(); len(made) <= len(commands) {
			t.Errorf("%q: %d commands", args, len(made))
		}
	}
}

// The help of every command has an example.
func TestExamples(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if path := cmd.CommandPath(); !strings.Contains(cmd.Example, path) && !cmd.Hidden {
			t.Errorf("%s has no example", path)
		}
		for _, below := range cmd.Commands() {
			if name := below.Name(); name != "completion" && name != "version" { // the first is not ours
				check(below)
			}
		}
	}
	check(newRoot(&host.Host{}, nil))
}
