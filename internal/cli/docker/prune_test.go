package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		args      []string
		all, json bool
		err       string
	}{
		{args: []string{"prune"}},
		{args: []string{"prune", "--all"}, all: true},
		{args: []string{"prune", "-a", "--json"}, all: true, json: true},
		{args: []string{"prune", "old"}, err: `prune takes no arguments, but got "old"; it finds what is perstack's by itself`},
		{args: []string{"build"}, err: `unknown command "docker build"; perstack docker --help lists what there is`},
	} {
		var got *Options
		cmd := New(&host.Host{}, func(_ context.Context, opts *Options) error { got = opts; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(test.args)
		err := cmd.Execute()
		if test.err != "" {
			if err == nil || err.Error() != test.err || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%q: error = %v, want usage error %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil || got == nil || got.All != test.all || got.JSON != test.json || got.Executable == nil {
			t.Errorf("%q: options = %+v, %v", test.args, got, err)
		}
	}
}

func TestWithoutACommandThereIsHelp(t *testing.T) {
	var out bytes.Buffer
	cmd := New(&host.Host{Stderr: &out}, nil)
	cmd.SetArgs([]string{})
	cmd.SilenceErrors = true
	if err := cmd.Execute(); host.ExitCode(err) != host.ExitUsage || !strings.Contains(out.String(), "perstack docker prune") {
		t.Errorf("error = %v, printed %s", err, out.String())
	}
}

func TestPrint(t *testing.T) {
	for _, test := range []struct {
		pruned     docker.Pruned
		text, json string
	}{
		{docker.Pruned{}, "nothing to remove\n", `{"images":0,"bytes":0,"containers":0,"networks":0,"inUse":0}`},
		{docker.Pruned{Images: 1, Bytes: 26540032}, "removed 1 image (26.5 MB)\n",
			`{"images":1,"bytes":26540032,"containers":0,"networks":0,"inUse":0}`},
		{docker.Pruned{Images: 2, Bytes: 53000000, Containers: 1, Networks: 2, InUse: 1},
			"removed 2 images (53.0 MB), 1 container and 2 networks\n1 image in use by a container: kept\n",
			`{"images":2,"bytes":53000000,"containers":1,"networks":2,"inUse":1}`},
		{docker.Pruned{Containers: 2, Networks: 1}, "removed 2 containers and 1 network\n",
			`{"images":0,"bytes":0,"containers":2,"networks":1,"inUse":0}`},
		{docker.Pruned{InUse: 2}, "nothing to remove\n2 images in use by a container: kept\n",
			`{"images":0,"bytes":0,"containers":0,"networks":0,"inUse":2}`},
	} {
		var text, data bytes.Buffer
		if err := errors.Join(printWords(&text, test.pruned), host.WriteJSON(&data, test.pruned)); err != nil {
			t.Fatal(err)
		}
		compact := jsontext.Value(data.Bytes())
		if err := compact.Compact(); err != nil || text.String() != test.text || string(compact) != test.json {
			t.Errorf("%+v:\n%s%s", test.pruned, text.String(), compact)
		}
	}
}

func TestNoEngine(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	var out bytes.Buffer
	h := &host.Host{Stdout: &out, Stderr: &out, Environ: []string{"DOCKER_HOST=unix://" + socket}}
	err := prune(t.Context(), &Options{Host: h, Yes: true, JSON: true})
	if err == nil || !strings.Contains(err.Error(), socket) || strings.Contains(err.Error(), "--runtime") || host.ExitCode(err) != host.ExitFailure || out.Len() > 0 {
		t.Errorf("error = %v, printed %q", err, out.String())
	}
}

// Nothing is removed before the user has agreed: at the terminal, or by a flag.
func TestPruneAsks(t *testing.T) {
	for name, c := range map[string]struct {
		answer   string
		terminal bool
		yes      bool
		want     string // of the error; empty if prune continues
	}{
		"yes":         {"y\n", true, false, ""},
		"no":          {"n\n", true, false, "nothing was removed"},
		"no answer":   {"", true, false, "nothing was removed"},
		"no terminal": {"y\n", false, false, "add --yes"},
		"by a flag":   {"", false, true, ""},
	} {
		h := &host.Host{Stdin: strings.NewReader(c.answer), StdinIsTerminal: c.terminal, StderrIsTerminal: c.terminal, Stderr: io.Discard}
		err := (&Options{Host: h, Yes: c.yes}).confirm(t.Context())
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || host.ExitCode(err) != host.ExitUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
