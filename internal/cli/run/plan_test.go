package run

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/testkit/allow"
	"github.com/perstack-go/perstack/job"
)

// writeFiles fills a new directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A proposal is what a plan is made from.
type proposal struct {
	files    map[string]string
	expert   string // lead, if it is not named
	opts     *Options
	environ  []string
	recorded job.Spec // of the job that is continued
	kernel   error    // why there is no sandbox
	landlock bool     // the machine has no more than that
	strict   bool     // the user allows nothing beforehand
}

// makePlan does what a run does before it starts, and returns what the user was told.
func makePlan(t *testing.T, p proposal) (pl *plan, told string, err error) {
	t.Helper()
	var stderr strings.Builder
	o := p.opts
	if o == nil {
		o = &Options{}
	}
	yes := o.Host != nil && o.Host.Yes
	o.Host = &host.Host{Command: "perstack", Dir: writeFiles(t, p.files), Home: t.TempDir(), Stderr: &stderr, Environ: p.environ, Yes: yes}
	if !p.strict {
		allowAll(t, o.Host)
	}
	o.sandboxes = func() local.Offer {
		if p.kernel != nil {
			return local.Offer{Level: expert.SandboxOff, Why: p.kernel}
		}
		if p.landlock {
			return local.Offer{Level: expert.SandboxLandlock, Why: errors.New("an old kernel")}
		}
		return local.Offer{Level: expert.SandboxFull}
	}
	project, err := loadProject(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if p.expert == "" {
		p.expert = "lead"
	}
	job := &target{jobID: "j", expertKey: p.expert, recorded: p.recorded}
	if err = project.readEnv(t.Context(), o, job); err == nil {
		pl, err = makeSpec(t.Context(), o, project, job)
	}
	return pl, stderr.String(), err
}

// allowAll makes the user one who allows everything that a project asks for.
func allowAll(t *testing.T, h *host.Host) {
	t.Helper()
	variable, err := allow.Everything(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h.Environ = append([]string{variable}, h.Environ...)
}

// loadAll reads perstack.toml and the env files, as for a run of an Expert.
func loadAll(t *testing.T, o *Options, expert string) *project {
	t.Helper()
	allowAll(t, o.Host)
	p, err := loadProject(t.Context(), o)
	if err == nil {
		err = p.readEnv(t.Context(), o, &target{expertKey: expert})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// toml is the only file of most tests.
func toml(text string) map[string]string { return map[string]string{"perstack.toml": text} }

// flags are options that a command line gives.
func flags(t *testing.T, line string) *Options {
	t.Helper()
	o, err := parse(t, append([]string{"w", "q"}, strings.Fields(line)...)...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wantUsage checks that a run is refused as wrong usage, for a reason; "" means that it is
// not refused.
func wantUsage(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want) || host.ExitCode(err) != host.ExitUsage):
		t.Errorf("%v, want a usage error with %q", err, want)
	case err != nil && strings.ContainsRune(err.Error(), 0x1b):
		t.Errorf("the error holds an escape sequence: %q", err)
	}
}

// outputOf shows a run that was planned so.
func outputOf(o *Options, spec job.Spec) *output {
	if o.Host == nil {
		o.Host = &host.Host{Stderr: io.Discard}
	}
	o.Host.Command = "perstack"
	return &output{
		opts: o, plan: &plan{opts: o, target: &target{}, project: &project{config: &manifest.Config{}}, spec: spec}, expert: coordinator(spec),
		delegated: make(map[string]bool), refused: make(map[string]bool),
	}
}

func coordinator(spec job.Spec) *expert.Expert {
	if e := spec.Coordinator(); e != nil {
		return e
	}
	return &expert.Expert{Key: "lead"}
}
