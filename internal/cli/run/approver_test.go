package run

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// Tool calls are asked about where a person can read the question and answer it.
func TestApprover(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, tt := range map[string]struct {
		host         *host.Host
		asks, stdout bool // and whether standard output waits
	}{
		"terminal":           {&host.Host{Stdin: file, StdinIsTerminal: true, StderrIsTerminal: true, StdoutIsTerminal: true}, true, true},
		"output to a file":   {&host.Host{Stdin: file, StdinIsTerminal: true, StderrIsTerminal: true}, true, false},
		"input from a pipe":  {&host.Host{Stdin: file, StderrIsTerminal: true, StdoutIsTerminal: true}, false, false},
		"messages to a file": {&host.Host{Stdin: file, StdinIsTerminal: true, StdoutIsTerminal: true}, false, false},
		"no file":            {&host.Host{Stdin: strings.NewReader(""), StdinIsTerminal: true, StderrIsTerminal: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			h := tt.host
			h.Stdout, h.Stderr = &out, &errs
			approver := (&Options{Host: h}).approver(nil)
			if (approver != nil) != tt.asks || (h.Stderr != io.Writer(&errs)) != tt.asks || (h.Stdout != io.Writer(&out)) != tt.stdout {
				t.Errorf("approver %v, standard error %T, standard output %T", approver, h.Stderr, h.Stdout)
			}
		})
	}
}

// A command with a subcommand can be allowed with any words, unless it runs other programs or must be
// asked about each time.
func TestOffers(t *testing.T) {
	for _, tt := range []struct {
		about event.ApprovalRequested
		want  string
	}{
		{event.ApprovalRequested{Effect: event.Effect{Kind: event.CommandEffect, Argv: []string{"git", "push", "origin"}}}, "apw"},
		{event.ApprovalRequested{Effect: event.Effect{Kind: event.CommandEffect, Argv: []string{"git", "push"}}, Once: true}, ""},
		{event.ApprovalRequested{Effect: event.Effect{Kind: event.CommandEffect, Argv: []string{"git", "push"}, Env: []string{"A=b"}}}, "ap"},
		{event.ApprovalRequested{Effect: event.Effect{Kind: event.CommandEffect, Argv: []string{"make", "test"}, Opaque: true}}, "ap"},
		{event.ApprovalRequested{Effect: event.Effect{Kind: event.CommandEffect, Argv: []string{"ls", "-l"}}}, "ap"},
		{event.ApprovalRequested{Effect: event.Effect{Kind: event.FileEffect, Path: "a"}}, "ap"},
	} {
		keys := ""
		for _, o := range offers(&event.Approval{ApprovalRequested: tt.about}) {
			keys += string(o.Key)
			if o.Key == 'w' && (o.Text != "allow git push ** in this project" || !o.Answer.Wide || o.Answer.Scope != event.ScopeProject) {
				t.Errorf("%+v", o)
			}
		}
		if keys != tt.want {
			t.Errorf("%+v: %q, want %q", tt.about.Effect, keys, tt.want)
		}
	}
}
