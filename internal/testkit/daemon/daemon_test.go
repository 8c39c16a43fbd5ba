package daemon

import (
	"os"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

func TestProgramIsBuiltOnce(t *testing.T) {
	first := Program(t, "./internal/testkit/evil/evilmcp")
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	second := Program(t, module+"/internal/testkit/evil/evilmcp")
	after, err := os.Stat(second)
	if err != nil {
		t.Fatal(err)
	}
	if second != first || !os.SameFile(before, after) {
		t.Errorf("built again: %s, %s", first, second)
	}
}

func TestImageRunsItsProgramAndIsRemoved(t *testing.T) {
	api := Need(t)
	var tag string
	t.Run("while it is there", func(t *testing.T) {
		tag = Image(t, map[string]string{"/bin/perstack": Binary(t)})
		created, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name:       Name(t),
			Config:     &container.Config{Image: tag, Entrypoint: []string{"/bin/perstack", "--version"}},
			HostConfig: &container.HostConfig{NetworkMode: "none"},
		})
		if err != nil {
			t.Fatal(err)
		}
		RemoveContainer(t, api, created.ID)
		wait := api.ContainerWait(t.Context(), created.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
		if _, err := api.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		select {
		case end := <-wait.Result:
			if end.StatusCode != 0 {
				t.Errorf("exit code %d", end.StatusCode)
			}
		case err := <-wait.Error:
			t.Fatal(err)
		}
	})
	if _, err := api.ImageInspect(t.Context(), tag); err == nil {
		t.Errorf("%s is still there", tag)
	}
}

func TestNames(t *testing.T) {
	if a, b := Name(t), Name(t); a == b || !strings.HasPrefix(a, "perstack-test-") || strings.ToLower(a) != a {
		t.Errorf("names %q and %q", a, b)
	}
}
