package start

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/tui"
)

// The screen is drawn only where a person can see it.
func TestWhyPlain(t *testing.T) {
	terminal := host.Host{StdinIsTerminal: true, StdoutIsTerminal: true, Environ: []string{"TERM=xterm-256color"}}
	with := func(change func(*host.Host)) *host.Host {
		h := host.Host{StdinIsTerminal: terminal.StdinIsTerminal, StdoutIsTerminal: true, Environ: terminal.Environ}
		change(&h)
		return &h
	}
	for _, tt := range []struct {
		name  string
		host  *host.Host
		plain bool
		want  string
	}{
		{"a terminal", with(func(*host.Host) {}), false, ""},
		{"the flag", with(func(*host.Host) {}), true, "--plain is given"},
		{"a screen reader", with(func(h *host.Host) { h.Environ = []string{"ACCESSIBLE=1"} }), false, "ACCESSIBLE is set"},
		{"none", with(func(h *host.Host) { h.Environ = []string{"ACCESSIBLE=0"} }), false, ""},
		{"a dumb terminal", with(func(h *host.Host) { h.Environ = []string{"TERM=dumb"} }), false, "TERM is dumb"},
		{"a pipe to it", with(func(h *host.Host) { h.StdinIsTerminal = false }), false, "standard input is not a terminal"},
		{"a pipe from it", with(func(h *host.Host) { h.StdoutIsTerminal = false }), false, "standard output is not a terminal"},
	} {
		o := &Options{Jobs: &run.Options{Host: tt.host}, Plain: tt.plain}
		if got := o.whyPlain(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A session begins with what is named, else with the history, else with the Experts.
func TestBegin(t *testing.T) {
	p := newProject(t, map[string]string{
		"perstack.toml": replay + "[experts.writer]\ninstruction = 'Write.'\n",
		"answers.toml":  "[[turn]]\ntext = 'Done.'\n",
	})
	begin := func(change func(*run.Options)) (entry, error) {
		t.Helper()
		jobs := *p.settings
		change(&jobs)
		e, err := (&Options{Jobs: &jobs}).begin(t.Context(), &notices{})
		e.project = nil
		return e, err
	}
	none := func(*run.Options) {}
	if got, err := begin(none); err != nil || got != (entry{screen: tui.EntryExperts}) {
		t.Errorf("without jobs: %+v, %v", got, err)
	}
	jobID, _ := do(t, p, tui.Task{Expert: "writer", Query: "Hi"}, &asker{})
	opened := entry{screen: tui.EntryChat, expert: "writer", job: jobID}
	for name, c := range map[string]struct {
		change func(*run.Options)
		want   entry
		err    string
	}{
		"with jobs":         {none, entry{screen: tui.EntryHistory}, ""},
		"an Expert":         {func(o *run.Options) { o.Expert = "writer" }, entry{screen: tui.EntryChat, expert: "writer"}, ""},
		"an unknown Expert": {func(o *run.Options) { o.Expert = "nobody" }, entry{}, `expert "nobody" not found`},
		"the newest job":    {func(o *run.Options) { o.Continue = true }, opened, ""},
		"a job":             {func(o *run.Options) { o.ContinueJob = jobID[:4] }, opened, ""},
		"its Expert":        {func(o *run.Options) { o.Continue, o.Expert = true, "writer" }, opened, ""},
		"another Expert":    {func(o *run.Options) { o.Continue, o.Expert = true, "Thank you" }, entry{}, "job " + jobID + " is of expert writer, not of Thank you"},
		"no job":            {func(o *run.Options) { o.ContinueJob = "zzzz" }, entry{}, "zzzz"},
		"two":               {func(o *run.Options) { o.Continue, o.ContinueJob = true, jobID }, entry{}, "exclude each other"},
	} {
		got, err := begin(c.change)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: %+v, %v", name, got, err)
		case c.err != "" && (host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want a usage error with %q", name, err, c.err)
		}
	}
}

func TestFlags(t *testing.T) {
	var got *Options
	parse := func(h *host.Host, args ...string) error {
		cmd := New(h, func(_ context.Context, o *Options) error {
			got = o
			return nil
		})
		cmd.SetArgs(args)
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		return cmd.ExecuteContext(t.Context())
	}
	if err := parse(&host.Host{}, "writer", "Hello you", "--plain", "--max-steps", "3", "--continue-job", "r58p"); err != nil {
		t.Fatal(err)
	}
	if o := got.Jobs; o.Expert != "writer" || got.Query != "Hello you" || !got.Plain || o.Flags.Limits.MaxSteps != 3 || o.ContinueJob != "r58p" {
		t.Errorf("got %+v of %+v", got, o)
	}
	if err := parse(&host.Host{}, "a", "b", "c"); host.ExitCode(err) != host.ExitUsage {
		t.Errorf("three arguments: %v", err)
	}
	// A program that a job runs would talk to Experts with the rights of the user.
	if err := parse(&host.Host{Supervised: func() bool { return true }}, "writer"); host.ExitCode(err) != host.ExitUsage {
		t.Errorf("in a job: %v", err)
	}
}
