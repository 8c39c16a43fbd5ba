package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/job"
)

// parse returns the options that a command line gives.
func parse(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	var got *Options
	cmd := New(&host.Host{Stderr: io.Discard}, func(_ context.Context, o *Options) error {
		got = o
		return nil
	})
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return got, err
}

func TestFlags(t *testing.T) {
	tests := []struct {
		args string
		want Options
	}{
		{"base", Options{}},
		{"base --workspace w --storage s", Options{Workspace: "w", Storage: "s"}},
		{"base --env-path a --env-path b,c", Options{EnvPath: []string{"a", "b,c"}}},
		{"base --pick think,exec --pick todo --omit exec", Options{Pick: []string{"think", "exec", "todo"}, Omit: []string{"exec"}}},
		{"base --max-workspace-bytes 5000000000 --verbose", Options{Limits: job.Limits{MaxWorkspaceBytes: 5_000_000_000}, Verbose: true}},
		{"base --http", Options{HTTP: true}},
		{"base --http --port 7777 --token-file t", Options{HTTP: true, Port: 7777, TokenFile: "t"}},
	}
	for _, tt := range tests {
		got, err := parse(t, strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got, cmpopts.IgnoreFields(Options{}, "Host")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
	for _, args := range []string{"", "bsae", "base here", "base --workspace=", "base --max-workspace-bytes x", "base --port 1", "base --token-file t"} {
		if _, err := parse(t, strings.Fields(args)...); host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}

// What is kept from the tools is what a run keeps from them.
func TestRules(t *testing.T) {
	dir := t.TempDir()
	h := &host.Host{Dir: dir, Stderr: io.Discard, Environ: []string{"PERSTACK_STORAGE_PATH=history"}}
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(o *Options, want rules) {
		t.Helper()
		o.Host = h
		got, err := loadRules(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(rules{}), cmpopts.IgnoreFields(rules{}, "config", "history")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", o, diff)
		}
	}
	own := []string{at("perstack.toml"), at("perstack.lock")}
	check(&Options{}, rules{workspace: dir, protected: []string{at("history"), at(".env"), at(".env.local")}, readOnly: own})

	write("perstack.toml", "envPath = ['keys.txt']\nmaxWorkspaceBytes = 7\n")
	write("keys.txt", "EXA_API_KEY=kX82mQ0vT4nB7cLw9rJd\n")
	check(&Options{}, rules{workspace: dir, protected: []string{at("history"), at(".env"), at(".env.local"), at("keys.txt")}, readOnly: own, maxBytes: 7})
	if got := h.Secrets.Redact("it is kX82mQ0vT4nB7cLw9rJd"); strings.Contains(got, "kX82") {
		t.Errorf("a secret of an env file is shown: %s", got)
	}
	write("other.env", "")
	// What holds is the project of the workspace, wherever the client starts the server.
	nested := append([]string{at("w/perstack.toml"), at("w/perstack.lock")}, append(own, own...)...)
	check(&Options{Workspace: "w", Storage: "s", EnvPath: []string{"other.env"}, Limits: job.Limits{MaxWorkspaceBytes: 9}}, rules{workspace: at("w"), protected: []string{at("s"), at("other.env"), at("keys.txt")}, readOnly: nested, maxBytes: 9})
	h.Dir = t.TempDir()
	there := func(name string) string { return filepath.Join(h.Dir, name) }
	check(&Options{Workspace: dir}, rules{workspace: dir, protected: []string{there("history"), there(".env"), there(".env.local"), at("keys.txt")}, readOnly: append(own, there("perstack.toml"), there("perstack.lock")), maxBytes: 7})
	h.Dir = dir

	write("perstack.toml", "envPaht = ['keys.txt']\n")
	if _, err := loadRules(t.Context(), &Options{Host: h}); host.ExitCode(err) != host.ExitUsage {
		t.Errorf("a file that may name env files cannot be read: %v, want a usage error", err)
	}
}

func TestOutcome(t *testing.T) {
	tests := []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, ""},
		{process.Signal{Signal: syscall.SIGTERM}, 143, ""},
		{fmt.Errorf("write to the client: %w", syscall.EPIPE), 0, ""},
		{io.ErrShortWrite, 1, "short write"},
		{&engine.LimitError{Limit: event.LimitWorkspace, Used: 20, Max: 10}, 3, "takes 20 bytes or more, and 10 are allowed"},
	}
	for _, tt := range tests {
		got := outcome(tt.err)
		if code := host.ExitCode(got); code != tt.code || !strings.Contains(host.Describe(got), tt.want) || (tt.want == "") != (host.Describe(got) == "") {
			t.Errorf("%v: code %d, %q; want %d, %q", tt.err, code, host.Describe(got), tt.code, tt.want)
		}
	}
}

// Somebody who calls it by hand is told what it is.
func TestTerminal(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var out, errs bytes.Buffer
		h := &host.Host{Source: engine.SystemSource(), Dir: t.TempDir(), Home: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, StdinIsTerminal: terminal}
		if err := Base(t.Context(), &Options{Host: h}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(errs.String(), "speaks MCP") != terminal || !strings.HasPrefix(errs.String(), "Running @perstack/base version ") || out.Len() > 0 {
			t.Errorf("terminal %t: %q, %q", terminal, errs.String(), out.String())
		}
	}
}
