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
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/job"
)

// A flag makes the walls narrower, never wider; what nobody says is as usual.
func TestWalls(t *testing.T) {
	for _, tt := range []struct{ flag, file, want bool }{{true, false, true}, {false, true, true}, {false, false, false}} {
		s := &setup{
			opts:   &Options{ReadOnlyWorkspace: tt.flag, BaseImage: "flag:1"},
			config: &manifest.Config{Docker: job.Container{ReadOnlyWorkspace: tt.file, BaseImage: "file:1", PIDs: 7}},
		}
		d := s.walls()
		if d.ReadOnlyWorkspace != tt.want || d.BaseImage != "flag:1" || d.PIDs != 7 || d.Memory != job.DefaultContainer().Memory {
			t.Errorf("%+v: %+v", tt, d)
		}
	}
}

// A container that was lost leaves a job that goes on, and the user is told how.
func TestExplainLost(t *testing.T) {
	o := &output{opts: &Options{Host: &host.Host{Command: "perstack"}, Runtime: "docker"}, expert: &expert.Expert{Key: "lead"}}
	err := o.explain(t.Context(), fmt.Errorf("run: %w", &docker.LostError{JobID: "j1", Err: errors.New("out of memory")}))
	for _, part := range []string{"out of memory", "is saved", "perstack run --continue-job j1", "--runtime docker"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
}

// Without an engine there is another runtime, and only a run is told of it.
func TestExplainNoEngine(t *testing.T) {
	o := &output{opts: &Options{Host: &host.Host{Command: "perstack"}, Runtime: "docker"}, expert: &expert.Expert{Key: "lead"}}
	_, refused := docker.Connect(t.Context(), func(name string) string {
		return map[string]string{"DOCKER_HOST": "unix://" + filepath.Join(t.TempDir(), "none.sock")}[name]
	}, "")
	err := o.explain(t.Context(), refused)
	if !strings.Contains(err.Error(), "cannot reach the container engine") || !strings.HasSuffix(err.Error(), "; or use --runtime local, which has no walls") || !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}

// Who stops a run before the Expert began is not told that something was saved.
func TestStoppedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(host.Signal{Signal: os.Interrupt})
	for name, tt := range map[string]struct {
		job   event.Job
		began bool
		want  string
	}{
		"a new job":    {event.Job{}, false, "stopped (received interrupt) before the Expert began; nothing was recorded"},
		"an old one":   {event.Job{ID: "j"}, false, "stopped (received interrupt) before the Expert began; the job is as it was"},
		"it has begun": {event.Job{}, true, "received interrupt"},
	} {
		o := &output{opts: &Options{Host: &host.Host{}, Verbose: false}, mode: outputText, job: tt.job, delegated: map[string]bool{}}
		listener := o.listener()
		bodies := []event.Body{event.DockerBuildProgress{Message: "adding"}}
		if tt.began {
			bodies = append(bodies, event.StartRun{})
		}
		for _, b := range bodies {
			if err := listener.Emit(event.Event{Body: b}); err != nil {
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
	refused := errors.New("the image x is not on this engine, and [docker] offline does not let it be pulled")
	for flag, want := range map[bool]string{true: "and --offline does not let", false: "and [docker] offline does not let"} {
		o := &output{opts: &Options{Host: &host.Host{}, Offline: flag}}
		if err := o.explain(t.Context(), refused); !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// A refused host is told of once, and of a program that tries thousands a few.
func TestTextTellsOfRefusedHosts(t *testing.T) {
	var told strings.Builder
	o := &output{opts: &Options{Host: &host.Host{Stderr: &told}}, mode: outputText, delegated: map[string]bool{}, refused: map[string]bool{}}
	for range 2 {
		for i := range 3 * maxRefused {
			if err := o.note(event.Event{Body: event.ProxyAccess{Action: "blocked", Domain: fmt.Sprintf("h%d.example", i), Reason: "domain", Gate: "lead x"}}); err != nil {
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

// That the container's time is over is no matter of --max-duration.
func TestLimitedByTheContainer(t *testing.T) {
	o := &output{opts: &Options{Host: &host.Host{Command: "perstack"}}, expert: &expert.Expert{Key: "lead"}}
	err := o.limited(engine.Result{JobID: "j1", Status: event.StatusStoppedByLimit, Reason: event.LimitDuration, Limit: &engine.LimitError{Limit: event.LimitDuration, Used: 10, Max: 10}})
	if !strings.Contains(err.Error(), "10s") || !strings.Contains(err.Error(), "totalTimeout in [docker]") || strings.Contains(err.Error(), "--max-duration") {
		t.Error(err)
	}
}
