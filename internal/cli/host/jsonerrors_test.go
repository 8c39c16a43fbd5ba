package host

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/registry/client"
)

func TestReport(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		err  error
		kind string // empty for no JSON
	}{
		"plain":             {nil, Usagef("wrong"), ""},
		"usage":             {[]string{"--json"}, Usagef("wrong"), "usage"},
		"other":             {[]string{"--json"}, fmt.Errorf("broken"), "error"},
		"registry":          {[]string{"--json"}, &client.Error{Kind: client.Policy}, "refusedByPolicy"},
		"login":             {[]string{"--json"}, &client.Error{Kind: client.Unauthorized}, "unauthorized"},
		"signal":            {[]string{"--json"}, fmt.Errorf("stopped: %w", process.Signal{Signal: syscall.SIGTERM}), "cancelled"},
		"request":           {[]string{"--json"}, &client.Error{Kind: client.Network, Err: context.Canceled}, "cancelled"},
		"said already":      {[]string{"--json"}, Exit(ExitFailure), ""},
		"flag error":        {[]string{"--wrong", "--json"}, nil, "usage"},
		"off":               {[]string{"--json=false"}, Usagef("wrong"), ""},
		"argument":          {[]string{"--", "--json"}, Usagef("wrong"), ""},
		"no error":          {[]string{"--json"}, nil, ""},
		"closed for a pipe": {[]string{"--json"}, &ClosedOutputError{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			h := &Host{Stdout: &out, Stderr: &errs}
			asJSON := false
			cmd := &cobra.Command{
				Use: "x", SilenceErrors: true, SilenceUsage: true,
				RunE: func(*cobra.Command, []string) error { return tt.err },
			}
			cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usagef("%w", err) })
			h.JSONErrors(cmd, &asJSON)
			cmd.SetArgs(tt.args)
			called, err := cmd.ExecuteC()
			_ = h.Report(called, tt.args, err)
			got := ""
			if _, rest, ok := strings.Cut(out.String(), `"kind": "`); ok {
				got, _, _ = strings.Cut(rest, `"`)
			}
			if got != tt.kind {
				t.Errorf("kind %q, want %q: %s%s", got, tt.kind, out.String(), errs.String())
			}
			if h.NoInput != asJSON {
				t.Error("with --json nothing is asked, and only then")
			}
		})
	}
}
