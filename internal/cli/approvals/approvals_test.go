package approvals

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
)

func waitingCall(run, id string) engine.WaitingCall {
	return engine.WaitingCall{RunID: run, Experts: []string{"dev"}, Call: event.ToolCall{ID: id, ToolName: "exec"}}
}

func TestPick(t *testing.T) {
	j := jobCalls{calls: []engine.WaitingCall{waitingCall("r1", "call_1"), waitingCall("r1", "call_12"), waitingCall("r2", "call_1"), waitingCall("r2", "other")}}
	for _, tt := range []struct {
		names, want string // RUN/CALL
		problem     string
	}{
		{names: "other", want: "r2/other"},
		{names: "o", want: "r2/other"},
		{names: "o other", want: "r2/other"},
		{names: "call_12 other", want: "r1/call_12 r2/other"},
		{names: "r2/call_1", want: "r2/call_1"},
		{names: "call_1", problem: "call_1 can be r1/call_1 or r2/call_1"},
		{names: "call_", problem: "can be"},
		{names: "none", problem: "does not wait"},
		{names: "r3/other", problem: "does not wait"},
	} {
		picked, err := j.pick(strings.Fields(tt.names))
		var got []string
		for _, w := range picked {
			got = append(got, w.RunID+"/"+w.Call.ID)
		}
		if tt.problem == "" && (err != nil || strings.Join(got, " ") != tt.want) || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s: %v, %v", tt.names, got, err)
		}
	}
	if _, err := j.pick([]string{"none"}); host.ExitCode(err) != host.ExitFailure {
		t.Errorf("a call without a question: %v", err)
	}
}

// Hostile words in a call cannot write to the terminal.
func TestDescribeIsClean(t *testing.T) {
	w := waitingCall("r1", "c\x1b[2J")
	w.Call.Args = []byte(`{"a":"\u001b]0;x"}`)
	w.Request.Effect = event.Effect{Kind: event.CommandEffect, Program: "/bin/\x1b[31m", Argv: []string{"a b", "\u202e\x1b[1m"}, Dir: "\x1b", Env: []string{"A=\x1b"}, Diff: "+\x1b[2J\n"}
	w.Request.Why, w.Request.Rule = "\x1b", "\x1b"
	var out strings.Builder
	describe(&out, w, func(text string) string { return text })
	if text := out.String() + brief(w); strings.ContainsAny(text, "\x1b\x07\u202e") || !strings.Contains(text, `"a b" "\u{202e}\u{1b}[1m"`) {
		t.Errorf("%q", text)
	}
	if line := asJSON("j", w); strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\x1b\x07") {
		t.Errorf("%q", line)
	}
}

// Two calls that differ in what cannot be seen do not look the same.
func TestDescribeShowsEverything(t *testing.T) {
	for _, hidden := range []string{"\u200b", "\u202e", "\x1b[8m", "\r", strings.Repeat(" ", 100)} {
		for name, change := range map[string]func(w *engine.WaitingCall, text string){
			"diff": func(w *engine.WaitingCall, text string) {
				w.Request.Effect = event.Effect{Kind: event.FileEffect, Diff: "+a" + text + "\n"}
			},
			"path": func(w *engine.WaitingCall, text string) {
				w.Request.Effect = event.Effect{Kind: event.FileEffect, Path: "a" + text + "b"}
			},
			"program": func(w *engine.WaitingCall, text string) {
				w.Request.Effect = event.Effect{Kind: event.CommandEffect, Program: "a" + text + "b"}
			},
			"variable": func(w *engine.WaitingCall, text string) {
				w.Request.Effect = event.Effect{Kind: event.CommandEffect, Env: []string{"A=a" + text + "b"}}
			},
			"arguments": func(w *engine.WaitingCall, text string) { w.Call.Args = []byte(`{"a":"a` + text + `b"}`) },
			"id":        func(w *engine.WaitingCall, text string) { w.Call.ID = "a" + text + "b" },
		} {
			var texts [2]string
			for i, text := range []string{"", hidden} {
				w := waitingCall("r1", "c")
				change(&w, text)
				var out strings.Builder
				describe(&out, w, func(text string) string { return text })
				texts[i] = terminal.CleanLine(out.String())
			}
			if texts[0] == texts[1] {
				t.Errorf("%s with %q: %q", name, hidden, texts[0])
			}
		}
	}
}

func command(t *testing.T, cmd *cobra.Command, args ...string) error {
	t.Helper()
	cmd.SetArgs(args)
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetErr(&bytes.Buffer{})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(t.Context())
}

func TestOptions(t *testing.T) {
	h := &host.Host{Command: "perstack"}
	var got *AnswerOptions
	see := func(_ context.Context, o *AnswerOptions) error { got = o; return nil }
	if err := command(t, NewApprove(h, see), "j", "c1", "c2", "--for", "job", "--resume", "--json", "--storage", "s"); err != nil {
		t.Fatal(err)
	}
	if !got.Allow || got.Job != "j" || !slices.Equal(got.Calls, []string{"c1", "c2"}) || got.Scope != "job" || !got.Resume || !got.JSON || got.Storage != "s" {
		t.Errorf("%+v", got)
	}
	if err := command(t, NewDeny(h, see), "j", "c1", "--reason", "no"); err != nil || got.Allow || got.Reason != "no" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, args := range [][]string{{}, {"j"}, {"j", "c", "--for", "ever"}, {"j", "c", "--config", "https://example.com/perstack.toml"}} {
		if err := command(t, NewApprove(h, see), args...); host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// A program that a job runs cannot answer for the user.
func TestRefusedInJob(t *testing.T) {
	h := &host.Host{Supervised: func() bool { return true }}
	see := func(context.Context, *AnswerOptions) error { return nil }
	if err := command(t, NewApprove(h, see), "j", "c"); host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), "not for programs that a job runs") {
		t.Error(err)
	}
	h.Supervised = func() bool { return false }
	if err := command(t, NewApprove(h, see), "j", "c"); err != nil {
		t.Error(err)
	}
}

func TestScopes(t *testing.T) {
	once := waitingCall("r", "c")
	once.Request.Once = true
	for _, tt := range []struct {
		opts AnswerOptions
		call engine.WaitingCall
		bad  bool
	}{
		{AnswerOptions{Allow: true, Scope: event.ScopeOnce}, once, false},
		{AnswerOptions{Allow: true, Scope: event.ScopeJob}, once, true},
		{AnswerOptions{Allow: true, Scope: event.ScopeJob}, waitingCall("r", "c"), false},
		{AnswerOptions{Allow: true, Scope: event.ScopeAlways}, waitingCall("r", "c"), false},
		{AnswerOptions{}, once, false},
	} {
		if err := tt.opts.checkScope([]engine.WaitingCall{tt.call}); (err != nil) != tt.bad {
			t.Errorf("%+v: %v", tt.opts, err)
		}
	}
}
