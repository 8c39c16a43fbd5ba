package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
)

// A flag makes the walls narrower, never wider; what nobody says is as usual.
func TestWalls(t *testing.T) {
	for _, tt := range []struct{ flag, file, want bool }{{true, false, true}, {false, true, true}, {false, false, false}} {
		s := &setup{
			opts:   &Options{ReadOnlyWorkspace: tt.flag, BaseImage: "flag:1"},
			config: &expert.Config{Docker: expert.Docker{ReadOnlyWorkspace: tt.file, BaseImage: "file:1", PIDs: 7}},
		}
		d := s.walls()
		if d.ReadOnlyWorkspace != tt.want || d.BaseImage != "flag:1" || d.PIDs != 7 || d.Memory != expert.DefaultDocker().Memory {
			t.Errorf("%+v: %+v", tt, d)
		}
	}
}

// A container that was lost leaves a job that goes on, and the user is told how.
func TestExplainLost(t *testing.T) {
	o := &output{opts: &Options{Host: &host.Host{Command: "perstack"}, Runtime: "docker"}, expert: &expert.Expert{Key: "lead"}}
	err := o.explain(fmt.Errorf("run: %w", &docker.LostError{JobID: "j1", Err: errors.New("out of memory")}))
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
	err := o.explain(refused)
	if !strings.Contains(err.Error(), "cannot reach the container engine") || !strings.HasSuffix(err.Error(), "; or use --runtime local, which has no walls") || !errors.Is(err, refused) {
		t.Errorf("%v", err)
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
