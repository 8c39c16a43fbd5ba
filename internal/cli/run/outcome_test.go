package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/job"
)

// A container that was lost leaves a job that can be resumed, and the user is told how.
func TestExplainLost(t *testing.T) {
	o := outputOf(flags(t, "--runtime docker"), job.Spec{})
	err := o.explain(t.Context(), fmt.Errorf("run: %w", &docker.LostError{JobID: "j1", Err: errors.New("out of memory")}))
	for _, part := range []string{"out of memory", "is saved", "perstack run --continue-job j1", "--runtime docker"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
}

// A job can stop while its last answer is on the way.
func TestAnsweredWhenItStopped(t *testing.T) {
	o := outputOf(flags(t, "--runtime docker"), job.Spec{})
	err := o.end(t.Context(), engine.Result{JobID: "j1", Status: event.StatusStoppedByApproval})
	if host.ExitCode(err) != host.ExitWaiting || !strings.HasPrefix(err.Error(), "the answer came when the job had stopped already; resume with: perstack run --continue-job j1") {
		t.Errorf("%v", err)
	}
}

// Without a daemon there is another runtime, and only a run is told of it.
func TestExplainNoEngine(t *testing.T) {
	o := outputOf(flags(t, "--runtime docker"), job.Spec{})
	_, refused := docker.Connect(t.Context(), func(name string) string {
		return map[string]string{"DOCKER_HOST": "unix://" + filepath.Join(t.TempDir(), "none.sock")}[name]
	}, "")
	err := o.explain(t.Context(), refused)
	if !strings.Contains(err.Error(), "cannot reach the Docker daemon") || !strings.HasSuffix(err.Error(), "; or use --runtime local, which runs without a container") || !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}

// Who stops a run before the Expert began is not told that something was saved.
func TestStoppedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(process.Signal{Signal: os.Interrupt})
	for name, tt := range map[string]struct {
		history *engine.History
		began   bool
		want    string
	}{
		"a new job":    {nil, false, "stopped (received interrupt) before the Expert began; nothing was recorded"},
		"an old one":   {&engine.History{}, false, "stopped (received interrupt) before the Expert began; the job is as it was"},
		"it has begun": {nil, true, "received interrupt"},
	} {
		o := outputOf(&Options{}, job.Spec{})
		o.mode, o.plan.target.history = outputText, tt.history
		bodies := []event.Body{event.DockerBuildProgress{Message: "adding"}}
		if tt.began {
			bodies = append(bodies, event.StartRun{})
		}
		for _, b := range bodies {
			if err := o.show(event.Event{Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.explain(ctx, context.Cause(ctx)); err.Error() != tt.want {
			t.Errorf("%s: %v", name, err)
		} else if !tt.began && host.ExitCode(err) != host.ExitInterrupt {
			t.Errorf("%s: exit code %d", name, host.ExitCode(err))
		}
	}
}

// What the flag forbids is not said to be forbidden by the file.
func TestOfflineNamesTheFlag(t *testing.T) {
	refused := errors.New("the image x is not on this daemon, and [docker] offline does not let it be pulled")
	for flag, want := range map[bool]string{true: "and --offline does not let", false: "and [docker] offline does not let"} {
		opts := &Options{}
		opts.Flags.Isolation.Container.Offline = flag
		o := outputOf(opts, job.Spec{})
		if err := o.explain(t.Context(), refused); !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// A refused host is told of once, and of a program that tries thousands a few.
func TestTextTellsOfRefusedHosts(t *testing.T) {
	var told strings.Builder
	o := outputOf(&Options{Host: &host.Host{Stderr: &told}}, job.Spec{})
	o.mode = outputText
	for range 2 {
		for i := range 3 * maxRefused {
			if err := o.note(event.Event{Body: event.ProxyAccess{Action: "blocked", Domain: fmt.Sprintf("h%d.example", i), Reason: "domain", Listener: "lead x"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := o.note(event.Event{Body: event.ProxyAccess{Action: "allowed", Domain: "good.example"}}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(told.String(), "\n"); n != maxRefused || strings.Contains(told.String(), "good.example") {
		t.Errorf("%d lines:\n%s", n, told.String())
	}
}

// Where only the answer is wanted, what a sandbox blocked goes to standard error, with what allows
// it.
func TestTextTellsWhatIsBlocked(t *testing.T) {
	var told strings.Builder
	o := outputOf(&Options{Host: &host.Host{Stderr: &told}}, job.Spec{})
	o.mode = outputText
	spec, err := job.Spec{Settings: job.Settings{Runtime: job.Local}}.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []event.Body{
		event.StartRun{Spec: spec},
		event.ProxyAccess{Action: "blocked", Domain: "a.example", Port: 443, Reason: "domain", Listener: "lead " + event.BaseSkill, Command: "npm"},
		event.ProxyAccess{Action: "blocked", Domain: "a.example", Port: 443, Reason: "domain", Listener: "lead " + event.BaseSkill, Command: "npm"},
		event.ProxyAccess{Action: "blocked", Domain: "b.example", Port: 443, Reason: "resolve", Listener: "lead web"},
		event.SandboxHint{Kind: "outside", Path: "/home/ann/datasets/a.csv", SkillName: event.BaseSkill, Command: "python3", Message: "/home/ann/datasets/a.csv is outside the sandbox\x1b[2J\n"},
	} {
		if err := o.note(event.Event{Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	const want = `perstack: sandbox: blocked network a.example:443, command npm
        allow:  --allow-domain a.example
        always: allowedDomains = ["a.example"] in [experts.lead.skills."@perstack/base"]
perstack: sandbox: blocked network b.example:443, skill web of lead
        the name has no address
perstack: sandbox: /home/ann/datasets/a.csv is outside the sandbox , command python3
        allow:  --sandbox-read /home/ann/datasets
`
	if told.String() != want {
		t.Errorf("got\n%s\nwant\n%s", told.String(), want)
	}
}

// That the container's time is over is no matter of --max-duration.
func TestLimitedByTheContainer(t *testing.T) {
	o := outputOf(&Options{}, job.Spec{})
	err := o.limited(engine.Result{JobID: "j1", Status: event.StatusStoppedByLimit, Reason: event.LimitDuration, Limit: &engine.LimitError{Limit: event.LimitDuration, Used: 10, Max: 10}})
	if !strings.Contains(err.Error(), "10s") || !strings.Contains(err.Error(), "totalTimeout in [docker]") || strings.Contains(err.Error(), "--max-duration") {
		t.Error(err)
	}
}

// The Docker runtime says what is wrong; the flag or the command that helps is added here.
func TestHintsForDocker(t *testing.T) {
	wrong := errors.New("it is wrong")
	for want, err := range map[string]error{
		"choose another directory with --workspace":                 &docker.WorkspaceError{Err: wrong},
		"with --config or --storage, or choose another --workspace": &docker.WorkspaceError{Link: "/w/l", Err: wrong},
		"run: perstack install --runtime docker":                    &docker.PinError{Err: wrong},
		"run: perstack install --runtime docker --update":           &docker.PinError{Stale: true, Err: wrong},
	} {
		got := dockerHint(&engine.Error{Kind: engine.KindInput, Err: err})
		if !strings.HasPrefix(got.Error(), "it is wrong; ") || !strings.HasSuffix(got.Error(), want) || host.ExitCode(got) != host.ExitUsage {
			t.Errorf("%v (%d), want %q", got, host.ExitCode(got), want)
		}
	}
}

// A flag is advised only where it helps: what an Expert names for itself, only the file changes.
func TestChoiceHint(t *testing.T) {
	wrong := &providers.ChoiceError{Settings: []string{"model"}, Err: errors.New("wrong model")}
	far := &providers.ChoiceError{Settings: []string{"runtime"}, Err: errors.New("out of reach")}
	own, other := &expert.Expert{Key: "own", Model: "m"}, &expert.Expert{Key: "other"}
	for want, err := range map[string]error{
		"wrong model; set it with --model":                  wrong,
		`expert "other": wrong model; set it with --model`:  &providers.ExpertError{Expert: other, Err: wrong},
		`expert "own": wrong model`:                         &providers.ExpertError{Expert: own, Err: wrong},
		`expert "own": out of reach; set it with --runtime`: &providers.ExpertError{Expert: own, Err: far},
	} {
		if got := outputOf(&Options{}, job.Spec{}).explain(t.Context(), err); got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
