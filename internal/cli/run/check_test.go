package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/job"
)

// Flags of the runtime docker go with no other, and what --env may not hand on is refused.
// Nothing has been asked of an engine by then.
func TestCheckRuntime(t *testing.T) {
	environ := []string{"GOOD=1", "_also=2", "EMPTY=", "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k", "PERSTACK_API_KEY=k", "PATH=/bin", "https_proxy=x", "LD_PRELOAD=x"}
	for name, tt := range map[string]struct {
		args, runtime, want string
	}{
		"nothing":                 {"", "local", ""},
		"nothing in docker":       {"", "docker", ""},
		"all":                     {"--env GOOD --env _also --env GOOD --read-only-workspace --base-image a:1", "docker", ""},
		"of an env file":          {"--env FILED", "docker", ""},
		"key of another provider": {"--env OPENAI_API_KEY", "docker", ""},
		"env, local":              {"--env GOOD", "local", "--env goes with --runtime docker, not local"},
		"image, local":            {"--base-image a", "local", "--base-image goes with --runtime docker, not local"},
		"read-only, local":        {"--read-only-workspace", "local", "--read-only-workspace goes with --runtime docker, not local"},
		"a value":                 {"--env GOOD=s3cret", "docker", "--env takes the name of a variable alone, and its value from your environment or an env file; write --env GOOD"},
		"no name":                 {"--env GOOD --env s3cret-value", "docker", "--env number 2 is not the name of a variable; write --env NAME, without $ and value"},
		"no name but a value":     {"--env s3cret-=s3cret", "docker", "--env number 1 is not the name of a variable; write --env NAME, without $ and value"},
		"empty":                   {"--env=", "docker", "--env number 1 is not the name of a variable; write --env NAME, without $ and value"},
		"a digit first":           {"--env 1A", "docker", "--env number 1 is not the name of a variable; write --env NAME, without $ and value"},
		"a search path":           {"--env PATH", "docker", "--env PATH: the variable is protected, since the runtime sets it; leave it out"},
		"a proxy":                 {"--env https_proxy", "docker", "--env https_proxy: the variable is protected, since the runtime sets it; leave it out"},
		"a loader":                {"--env LD_PRELOAD", "docker", "--env LD_PRELOAD: the variable is protected, since the runtime sets it; leave it out"},
		"our own":                 {"--env PERSTACK_API_KEY", "docker", "--env PERSTACK_API_KEY: the variable belongs to perstack itself, and commands cannot have it; leave it out"},
		"the key":                 {"--env ANTHROPIC_API_KEY", "docker", "--env ANTHROPIC_API_KEY: the variable is the key of provider anthropic, and commands cannot have it; leave it out"},
		"the key in other case":   {"--env anthropic_api_key", "docker", "--env anthropic_api_key: the variable is the key of provider anthropic, and commands cannot have it; leave it out"},
		"not set":                 {"--env GONE --env GOOD --env EMPTY --env GONE", "docker", "--env: not set in the environment or an env file, or empty: GONE, EMPTY; set it, or leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			o := flags(t, tt.args)
			o.Host.Environ = environ
			file := filepath.Join(t.TempDir(), ".env")
			if err := os.WriteFile(file, []byte("FILED=1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := checkRuntime(t, o, tt.runtime, env.File{Path: file})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || err.Error() != tt.want || host.ExitCode(err) != host.ExitUsage):
				t.Errorf("%v, want %s", err, tt.want)
			case err != nil && strings.Contains(err.Error(), "s3cret"):
				t.Errorf("a value is repeated: %v", err)
			}
		})
	}
}

// checkRuntime checks the flags of a run with a runtime.
func checkRuntime(t *testing.T, o *Options, runtime string, files ...env.File) error {
	t.Helper()
	values, err := env.Load(o.Host.Environ, files)
	if err != nil {
		t.Fatal(err)
	}
	pl := &plan{opts: o, project: &project{env: values}, spec: job.Spec{Settings: job.Settings{Provider: "anthropic", Runtime: runtime}}}
	return pl.checkFlags()
}

// Several flags that do not fit are refused for the same one each time.
func TestCheckRuntimeIsSteady(t *testing.T) {
	o := flags(t, "--env A --base-image a --read-only-workspace")
	for range 50 {
		if err := checkRuntime(t, o, "local"); err == nil || !strings.HasPrefix(err.Error(), "--env ") {
			t.Fatalf("%v", err)
		}
	}
}

func TestOlderNameOfTheRuntime(t *testing.T) {
	o, err := parse(t, "w", "q", "--runtime", "perstack")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.check(); err != nil || o.Flags.Runtime != "local" {
		t.Errorf("%q, %v", o.Flags.Runtime, err)
	}
}

// The shell is offered names that would be accepted, and no value.
func TestCompleteEnv(t *testing.T) {
	o := &Options{Host: &host.Host{Environ: []string{"GOOD=value", "EMPTY=", "PATH=/bin", "PERSTACK_X=1", "BAD-NAME=1", "=x", "B=="}}}
	got, _ := o.completeEnv(nil, nil, "")
	if d := cmp.Diff([]string{"GOOD", "B"}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
