package daemon

import (
	"bytes"
	"strings"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// said runs a program of an image and returns what it prints.
func said(t *testing.T, image string, argv ...string) string {
	t.Helper()
	api := Need(t)
	created, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name:       Name(t),
		Config:     &container.Config{Image: image, User: "1000:1000", Entrypoint: argv},
		HostConfig: &container.HostConfig{NetworkMode: "none", ReadonlyRootfs: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	RemoveContainer(t, api, created.ID)
	wait := api.ContainerWait(t.Context(), created.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := api.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	var code int64
	select {
	case end := <-wait.Result:
		code = end.StatusCode
	case err := <-wait.Error:
		t.Fatal(err)
	}
	logs, err := api.ContainerLogs(t.Context(), created.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, logs); err != nil || code != 0 {
		t.Fatalf("%v ended with %d: %v\n%s", argv, code, err, out.String())
	}
	return out.String()
}

// The images have all that their programs need, and are the same each time they are made.
func TestSystems(t *testing.T) {
	for name, c := range map[string]struct {
		make func(testing.TB, ...string) string
		argv []string
		want string
	}{
		"node":  {NodeImage, []string{"node", "-e", "fetch('data:,works').then(r => r.text()).then(console.log)"}, "works"},
		"squid": {SquidImage, []string{"squid", "-v"}, "Squid Cache: Version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := c.make(t)
			if again := c.make(t); again != image || !strings.HasPrefix(image, "sha256:") {
				t.Errorf("made twice: %s, %s", image, again)
			}
			if other := c.make(t, Name(t)); other == image {
				t.Error("one of its own is that of all")
			}
			if got := said(t, image, c.argv...); !strings.Contains(got, c.want) {
				t.Errorf("it says %q", got)
			}
		})
	}
}
