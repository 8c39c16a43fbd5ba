package schema

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
)

func TestOptions(t *testing.T) {
	h := &host.Host{}
	for _, test := range []struct {
		args []string
		err  string
	}{
		{args: []string{}},
		{args: []string{"perstack.toml"}, err: `schema takes no arguments, but got "perstack.toml"; perstack validate checks a file`},
	} {
		var got *Options
		cmd := New(h, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(test.args)
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || err.Error() != test.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: error = %v, want usage error %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil || got == nil || got.Host != h {
			t.Errorf("%q: options = %+v, %v", test.args, got, err)
		}
	}
}

func TestRunPrintsTheSchema(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &Options{Host: &host.Host{Stdout: &out}}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), manifest.JSONSchema()) {
		t.Errorf("printed %.200q", out.String())
	}
}

// A full disk behind > perstack.schema.json is not a success.
func TestRunReportsAFailedWrite(t *testing.T) {
	full := errors.New("no space left")
	if err := run(t.Context(), &Options{Host: &host.Host{Stdout: broken{full}}}); !errors.Is(err, full) {
		t.Errorf("error = %v", err)
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }
