package run

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/job"
)

// A job keeps who thinks for it, unless a flag or the file says otherwise; then the user
// is told that the conversation goes elsewhere.
func TestChooseModel(t *testing.T) {
	was := author{provider: "openai", model: "gpt-5-mini"}
	for name, c := range map[string]struct {
		flags, file, before author
		want                author
		told                string
	}{
		"new job":           {want: author{provider: "anthropic", model: "claude-sonnet-4-5"}},
		"kept":              {before: was, want: was},
		"same flag":         {flags: author{provider: "openai"}, before: was, want: was},
		"same file":         {file: author{provider: "openai"}, before: was, want: was},
		"model by flag":     {flags: author{model: "gpt-5"}, before: was, want: author{provider: "openai", model: "gpt-5"}},
		"model of the file": {file: author{model: "gpt-4o"}, before: was, want: author{provider: "openai", model: "gpt-4o"}},
		"model for another": {file: author{model: "claude-opus-4-5"}, before: was, want: was},
		"flag":              {flags: author{provider: "google"}, before: was, want: author{provider: "google", model: "gemini-2.5-pro"}, told: "google"},
		"file":              {file: author{provider: "anthropic", model: ""}, before: was, want: author{provider: "anthropic", model: "claude-sonnet-4-5"}, told: "anthropic"},
		"flag before file":  {flags: author{provider: "openai"}, file: author{provider: "anthropic", model: ""}, before: was, want: was},
		"unknown model":     {before: author{provider: "ollama", model: "mine:7b"}, want: author{provider: "ollama", model: "mine:7b"}},
		"no model":          {before: author{provider: "openai", model: ""}, want: author{provider: "openai", model: "gpt-5"}},
	} {
		var stderr bytes.Buffer
		s := &setup{opts: &Options{Host: &host.Host{Stderr: &stderr}, Provider: c.flags.provider, Model: c.flags.model},
			config: &manifest.Config{Provider: expert.Provider{Name: c.file.provider}, Model: c.file.model}}
		if err := s.chooseModel(c.before); err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.told != "" {
			want = "perstack: the conversation goes on with " + c.told + ", it was held with openai\n"
		}
		if got := (author{provider: s.provider, model: s.modelName}); got != c.want || stderr.String() != want {
			t.Errorf("%s: %+v, %q", name, got, stderr.String())
		}
	}
	// A name that no provider has may be an attack on the terminal, and is not used.
	var stderr bytes.Buffer
	s := &setup{opts: &Options{Host: &host.Host{Stderr: &stderr}}, config: &manifest.Config{}}
	if err := s.chooseModel(author{provider: "ev\x1bil", model: "m"}); err != nil || s.provider != "anthropic" || s.modelName != "claude-sonnet-4-5" || bytes.ContainsRune(stderr.Bytes(), 0x1b) || stderr.Len() == 0 {
		t.Errorf("%v, %s %s, %q", err, s.provider, s.modelName, stderr.String())
	}
	s = &setup{opts: &Options{Host: &host.Host{Stderr: &stderr}, Model: "m"}, config: &manifest.Config{}}
	if err := s.chooseModel(author{provider: "replay", model: "replay"}); host.ExitCode(err) != host.ExitUsage {
		t.Errorf("%v", err)
	}
}

// A job that began behind a wall goes on behind it, unless the user or the file says
// otherwise, and then that is said.
func TestChooseRuntime(t *testing.T) {
	for name, c := range map[string]struct {
		flag, file, before, want string
		told                     bool
	}{
		"new job":                {want: "local"},
		"flag":                   {flag: "docker", want: "docker"},
		"file":                   {file: "docker", want: "docker"},
		"flag before file":       {flag: "local", file: "docker", want: "local"},
		"as it was":              {before: "docker", want: "docker"},
		"as it was, local":       {before: "local", want: "local"},
		"the wall is taken away": {flag: "local", before: "docker", want: "local", told: true},
		"by the file":            {file: "local", before: "docker", want: "local", told: true},
		"a wall is put up":       {flag: "docker", before: "local", want: "docker"},
		"a stranger's journal":   {before: "ev\x1bil", want: "local"},
	} {
		var stderr bytes.Buffer
		s := &setup{opts: &Options{Host: &host.Host{Stderr: &stderr}, Runtime: c.flag}, config: &manifest.Config{Runtime: c.file}}
		s.chooseRuntime(author{runtime: c.before})
		if s.runtime != c.want || (stderr.Len() > 0) != c.told {
			t.Errorf("%s: %s, told %q", name, s.runtime, stderr.String())
		}
	}
}

// What was chosen for the container stays when a flag is not repeated, and the user is
// told. Flags and file come first; what a stranger's journal names is checked like a flag.
func TestKeepWalls(t *testing.T) {
	environ := []string{"A=1", "B=2", "PATH=/bin", "PERSTACK_X=1", "ANTHROPIC_API_KEY=k"}
	had := event.Walls{ReadOnlyWorkspace: true, BaseImage: "tools:1", Env: []string{"B", "A", "B"}}
	all := event.Walls{ReadOnlyWorkspace: true, BaseImage: "tools:1", Env: []string{"A", "B"}}
	for name, c := range map[string]struct {
		flags     string
		file      job.Container
		had       event.Walls
		want      event.Walls // in the end; what is recorded for the next time
		told, err string
	}{
		"nothing":              {},
		"all":                  {had: had, want: all, told: "the base image tools:1, a read-only workspace, A and B"},
		"one":                  {had: event.Walls{ReadOnlyWorkspace: true}, want: event.Walls{ReadOnlyWorkspace: true}, told: "a read-only workspace"},
		"flags":                {flags: "--base-image other:1 --read-only-workspace --env A", had: had, want: event.Walls{ReadOnlyWorkspace: true, BaseImage: "other:1", Env: []string{"A"}}},
		"some flags":           {flags: "--env A --env A", had: had, want: event.Walls{ReadOnlyWorkspace: true, BaseImage: "tools:1", Env: []string{"A"}}, told: "the base image tools:1 and a read-only workspace"},
		"file":                 {file: job.Container{BaseImage: "file:1", ReadOnlyWorkspace: true}, had: had, want: event.Walls{ReadOnlyWorkspace: true, BaseImage: "file:1", Env: []string{"A", "B"}}, told: "A and B"},
		"writable again":       {flags: "--read-only-workspace=false", had: had, want: event.Walls{BaseImage: "tools:1", Env: []string{"A", "B"}}, told: "the base image tools:1, A and B"},
		"the file does not":    {flags: "--read-only-workspace=false", file: job.Container{ReadOnlyWorkspace: true}, had: event.Walls{ReadOnlyWorkspace: true}, want: event.Walls{ReadOnlyWorkspace: true}},
		"chosen now":           {flags: "--read-only-workspace --env B", want: event.Walls{ReadOnlyWorkspace: true, Env: []string{"B"}}},
		"the wall is gone":     {flags: "--runtime local", had: had},
		"gone meanwhile":       {had: event.Walls{Env: []string{"A", "GONE"}}, err: "not set in the environment, or empty: GONE"},
		"gone, and another":    {flags: "--env A", had: event.Walls{Env: []string{"GONE"}}, want: event.Walls{Env: []string{"A"}}},
		"a search path":        {had: event.Walls{Env: []string{"PATH"}}, err: "--env PATH: the variable is protected"},
		"our own":              {had: event.Walls{Env: []string{"PERSTACK_X"}}, err: "belongs to perstack itself"},
		"the key":              {had: event.Walls{Env: []string{"ANTHROPIC_API_KEY"}}, err: "is the key of provider anthropic"},
		"no name":              {had: event.Walls{Env: []string{"ev\x1bil"}}, err: "is not the name of a variable"},
		"no image":             {had: event.Walls{BaseImage: "--ev\x1bil"}, err: "is not the name of an image"},
		"no image, and a flag": {flags: "--base-image a:1", had: event.Walls{BaseImage: "--evil"}, want: event.Walls{BaseImage: "a:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, append([]string{"w", "q"}, strings.Fields(c.flags)...)...)
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			o.Host = &host.Host{Stderr: &stderr, Environ: environ}
			s := &setup{opts: o, config: &manifest.Config{Docker: c.file}}
			before := author{provider: "anthropic", runtime: "docker", walls: &c.had}
			err = s.remember(event.Job{}, before)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || host.ExitCode(err) != host.ExitUsage || strings.ContainsRune(err.Error(), 0x1b) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := &c.want
			if cmp.Equal(c.want, event.Walls{}) {
				want = nil
			}
			if d := cmp.Diff(want, s.chosen()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if got := slices.Compact(slices.Sorted(slices.Values(s.handed()))); s.runtime == "docker" && !slices.Equal(got, c.want.Env) {
				t.Errorf("commands get %v", got)
			}
			told := ""
			if c.told != "" {
				told = "perstack: the job goes on with " + c.told + ", as before\n"
			}
			if s.runtime == "docker" && stderr.String() != told {
				t.Errorf("told %q, want %q", stderr.String(), told)
			}
		})
	}
	// One that was not behind a wall had none, whatever its journal says.
	s := &setup{opts: &Options{Host: &host.Host{}, Runtime: "docker"}, config: &manifest.Config{}}
	if err := s.remember(event.Job{}, author{runtime: "local", walls: &had}); err != nil || s.chosen() != nil {
		t.Errorf("%+v, %v", s.chosen(), err)
	}
}
