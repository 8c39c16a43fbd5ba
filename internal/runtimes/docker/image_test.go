package docker

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// An imagist makes images that no other test has, and removes them.
type imagist struct {
	*Daemon
	moby   *client.Client // for looking at images without our own client
	events []event.DockerBuildProgress
}

func newImagist(t *testing.T) *imagist {
	t.Helper()
	return &imagist{Daemon: realDaemon(t), moby: daemon.Need(t)}
}

// spec has authorities that no other test has, hence an image of its own.
func (i *imagist) spec(t *testing.T) ImageSpec {
	t.Helper()
	return ImageSpec{Binary: daemon.Binary(t), Roots: authority(t, daemon.Name(t))}
}

func (i *imagist) report(b event.Body) {
	i.events = append(i.events, b.(event.DockerBuildProgress))
}

// image returns the id of the image and its name.
func (i *imagist) image(t *testing.T, spec ImageSpec) (id, tag string) {
	t.Helper()
	p, err := i.plan(t.Context(), spec, i.report)
	if err != nil {
		t.Fatal(err)
	}
	p.layer.Close()
	daemon.RemoveImage(t, i.moby, p.tag())
	i.events = nil
	id, err = i.Image(t.Context(), spec, i.report)
	if err != nil {
		t.Fatal(err)
	}
	return id, p.tag()
}

// run returns what a container of the image writes.
func (i *imagist) run(t *testing.T, config container.Config) string {
	t.Helper()
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name:       daemon.Name(t),
		Config:     &config,
		HostConfig: &container.HostConfig{NetworkMode: "none", ReadonlyRootfs: true, CapDrop: []string{"ALL"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, i.moby, created.ID)
	wait := i.moby.ContainerWait(t.Context(), created.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := i.moby.ContainerStart(t.Context(), created.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	var code int64
	select {
	case end := <-wait.Result:
		code = end.StatusCode
	case err := <-wait.Error:
		t.Fatal(err)
	}
	logs, err := i.moby.ContainerLogs(t.Context(), created.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var out bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &out, logs); err != nil {
		t.Fatal(err)
	}
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	return out.String()
}

func (i *imagist) stages() []string {
	var stages []string
	for _, e := range i.events {
		stages = append(stages, e.Stage)
	}
	return slices.Compact(stages)
}

func TestImageRunsPerstack(t *testing.T) {
	i := newImagist(t)
	id, tag := i.image(t, i.spec(t))
	out := i.run(t, container.Config{Image: id, User: "1234:1234", Cmd: []string{"--version"}})
	if strings.TrimSpace(out) == "" || strings.Contains(out, "unknown") {
		t.Errorf("perstack --version says %q", out)
	}
	found, err := i.moby.ImageInspect(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	c := found.Config
	if c.User != "65534:65534" || c.WorkingDir != "/workspace" || !slices.Equal(c.Entrypoint, []string{"/perstack"}) ||
		len(c.Cmd) > 0 || len(c.Volumes) > 0 || c.Healthcheck != nil || len(c.ExposedPorts) > 0 ||
		!slices.Equal(c.Env, []string{"PATH=" + defaultPath, "HOME=/home/perstack"}) {
		t.Errorf("configuration %+v", c)
	}
	if len(found.RootFS.Layers) != 1 || found.Os != "linux" || found.Architecture != runtime.GOARCH {
		t.Errorf("%s/%s with layers %v", found.Os, found.Architecture, found.RootFS.Layers)
	}
}

func TestImageIsMadeOnce(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	first, tag := i.image(t, spec)
	if got := i.stages(); !slices.Equal(got, []string{"building", "complete"}) {
		t.Errorf("the first time: %v", i.events)
	}
	if first := i.events[0]; first.Progress == nil || *first.Progress != 0 || len(i.events) != 2 { // each is kept in the history
		t.Errorf("progress: %+v", i.events)
	}
	second, _ := i.image(t, spec)
	if second != first {
		t.Errorf("ids %s and %s", first, second)
	}
	if len(i.events) != 1 || i.events[0].Stage != "complete" || i.events[0].Service != "image" || !strings.Contains(i.events[0].Message, tag) {
		t.Errorf("the second time: %v", i.events)
	}

	spec.Roots = authority(t, daemon.Name(t))
	if other, otherTag := i.image(t, spec); other == first || otherTag == tag {
		t.Errorf("other roots give %s %s again", other, otherTag)
	}
}

func TestImageIsMadeByTwoAtOnce(t *testing.T) {
	i := newImagist(t)
	onNothing := i.spec(t)
	onBase := i.spec(t)
	onBase.Base = loadBase(t, nil)
	i.removeStages(t, onBase) // also the one that lost its name before anybody saw it
	for _, spec := range []ImageSpec{onNothing, onBase} {
		var wait sync.WaitGroup
		ids := make([]string, 2)
		for n := range ids {
			wait.Go(func() {
				var err error
				if ids[n], err = i.Image(t.Context(), spec, func(event.Body) {}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for _, id := range ids {
			daemon.RemoveImage(t, i.moby, id)
		}
		if _, tag := i.image(t, spec); !slices.Contains(ids, i.id(t, tag)) {
			t.Errorf("%s is none of %v", tag, ids)
		}
	}
}

// A program that can load images can use our name and our labels. Only our files count.
func TestImageOfAnotherIsNotUsed(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	p, err := i.plan(t.Context(), spec, i.report)
	if err != nil {
		t.Fatal(err)
	}
	defer p.layer.Close()
	unlabelled := p.image.Config
	unlabelled.Labels = nil
	for name, config := range map[string]archive.Config{
		"another layer": p.image.Config,
		"no label":      unlabelled,
	} {
		t.Run(name, func(t *testing.T) {
			fake := daemon.Load(t, config, []archive.File{{Path: "/perstack", Mode: 0o555, Body: archive.Text("hostile")}})
			if _, err := i.moby.ImageTag(t.Context(), client.ImageTagOptions{Source: fake, Target: p.tag()}); err != nil {
				t.Fatal(err)
			}
			fakeID := i.id(t, fake)
			id, tag := i.image(t, spec)
			if id == fakeID {
				t.Error("the image of another is used")
			}
			if now := i.id(t, tag); now != id {
				t.Errorf("%s is %s, want %s", tag, now, id)
			}
			i.run(t, container.Config{Image: id, Cmd: []string{"--version"}})
		})
	}
}

func (i *imagist) id(t *testing.T, name string) string {
	t.Helper()
	found, err := i.moby.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return found.ID
}

// Nothing of this machine is in an image but the program and the authorities.
func TestImageHasNothingOfTheHost(t *testing.T) {
	const canary = "canary-3f9c1e77d2"
	t.Setenv("PERSTACK_API_KEY", canary)
	t.Setenv("HTTPS_PROXY", "http://user:"+canary+"@192.0.2.1:3128")
	i := newImagist(t)
	spec := i.spec(t)
	dir := filepath.Join(t.TempDir(), canary)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "perstack")
	if err := os.WriteFile(path, read(t, spec.Binary), 0o700); err != nil {
		t.Fatal(err)
	}
	spec.Binary = path
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}

	check := func(t *testing.T, spec ImageSpec) {
		id, _ := i.image(t, spec)
		saved, err := i.moby.ImageSave(t.Context(), []string{id})
		if err != nil {
			t.Fatal(err)
		}
		defer saved.Close()
		data, err := io.ReadAll(saved)
		if err != nil {
			t.Fatal(err)
		}
		var inspect bytes.Buffer
		if _, err := i.moby.ImageInspect(t.Context(), id, client.ImageInspectWithRawResponse(&inspect)); err != nil {
			t.Fatal(err)
		}
		if len(data) < 1<<20 || inspect.Len() == 0 {
			t.Fatalf("%d bytes of image, %d of inspect", len(data), inspect.Len())
		}
		for _, secret := range []string{canary, hex.EncodeToString([]byte(canary))} {
			if bytes.Contains(data, []byte(secret)) || bytes.Contains(inspect.Bytes(), []byte(secret)) {
				t.Error("the canary is in the image")
			}
		}
		if len(host) > 5 && bytes.Contains(inspect.Bytes(), []byte(host)) {
			t.Error("the name of this machine is in the image")
		}
	}
	t.Run("on nothing", func(t *testing.T) { check(t, spec) })
	t.Run("on a base", func(t *testing.T) {
		spec := spec
		spec.Base = daemon.Image(t, map[string]string{"/bin/tool": daemon.Program(t, "./internal/testkit/evil/evilmcp")})
		check(t, spec)
	})
}

func TestImageThatCannotBeMade(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	ctx, cancel := context.WithCancel(t.Context())
	// Once the daemon takes the image, the run is stopped.
	_, err := i.Image(ctx, spec, func(b event.Body) {
		i.report(b)
		if p := b.(event.DockerBuildProgress).Progress; p != nil {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "make the image") {
		t.Errorf("error = %v", err)
	}
	if got := i.stages(); !slices.Equal(got, []string{"building", "error"}) {
		t.Errorf("events %v", i.events)
	}
	i.image(t, spec) // nothing is in the way of the next

	spec.Binary += ".missing"
	if _, err := i.Image(t.Context(), spec, i.report); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}
