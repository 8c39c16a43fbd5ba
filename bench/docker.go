//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// docker measures what isolation costs: how much longer a run of one step takes in
// containers than without, in units of the least that a daemon can do with the same
// image, which is to start a container, wait for its end and remove it.
//
// More than half a second of it is the self-test, which waits for answers that must not
// come: the faster a daemon is, the more containers fit into it.
//
// On a machine without a daemon it is left out; in CI there has to be one.
func docker(ctx context.Context, dir string, p programs) ([]figure, error) {
	api, err := dockerDaemon(ctx)
	if err != nil {
		if os.Getenv("CI") != "" {
			return nil, fmt.Errorf("missing in CI: a Docker daemon: %w", err)
		}
		fmt.Fprintln(os.Stderr, "bench: docker is left out, because no Docker daemon answers:", err)
		return nil, nil
	}
	defer api.Close()
	y, err := newDockerProject(ctx, dir, p, api)
	if err != nil {
		return nil, err
	}
	defer y.close(context.WithoutCancel(ctx))
	times, err := y.times(ctx, 7)
	if err != nil {
		return nil, err
	}
	memory, err := y.memory(ctx)
	if err != nil {
		return nil, err
	}
	requests, err := y.requests(ctx)
	if err != nil {
		return nil, err
	}
	return append([]figure{
		{"docker: time that a run of one step takes longer than built-in, to a bare container", middle(times, roundTimes.factor), 8, "%.1f"},
		{"docker: that time, ms", middle(times, roundTimes.longer), 0, "%.0f"},
		{"docker: a bare container of the same image, ms", middle(times, roundTimes.ofBare), 0, "%.0f"},
		{"docker: CPU of the host's process, to the built-in run", middle(times, roundTimes.cpu), 0, "%.1f"},
		{"docker: requests to the engine in a run of one step", requests, 45, "%.0f"},
	}, memory...), nil
}

func dockerDaemon(ctx context.Context) (*client.Client, error) {
	api, err := client.New(client.FromEnv)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(err, api.Close())
	}
	return api, nil
}

// A dockerProject is a project whose runs can use containers.
type dockerProject struct {
	programs
	api   *client.Client
	dir   string // of the project
	home  string // beside it: histories, and the socket of the relay
	image string // that the runs are in
	made  bool   // by us, so it is ours to remove
}

func newDockerProject(ctx context.Context, dir string, p programs, api *client.Client) (*dockerProject, error) {
	y := &dockerProject{programs: p, api: api, home: dir, dir: filepath.Join(dir, "dockerProject")}
	if err := os.Mkdir(y.dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"perstack.toml": "[experts.bench]\ninstruction = \"Work.\"\n",
		"quick.toml":    "[[turn]]\ntext = \"Done.\"\n",
		"slow.toml":     "[[turn]]\ntext = \"Done.\"\ndelay = \"1m\"\n",
	} {
		if err := os.WriteFile(filepath.Join(y.dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if os.Getuid() == 0 { // nothing in a container runs as root
		if err := os.Chown(y.dir, 1000, 1000); err != nil {
			return nil, err
		}
	}
	return y, y.makeImage(ctx)
}

var imageSaid = regexp.MustCompile(`"stage":"complete".*"message":"(made )?the image (perstack-runtime:[0-9a-f]{12})`)

// makeImage runs once, so that the image is there, and learns its name.
func (y *dockerProject) makeImage(ctx context.Context) error {
	first := y.inDocker(ctx, "quick.toml")()
	var stderr bytes.Buffer
	first.Stderr = &stderr
	out, err := first.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", first, err, stderr.Bytes())
	}
	found := imageSaid.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("%s does not say which image it took", first)
	}
	y.made, y.image = len(found[1]) > 0, string(found[2])
	return nil
}

// close removes the image, if it was not there before. Runs have removed everything else.
func (y *dockerProject) close(ctx context.Context) {
	if !y.made {
		return
	}
	if _, err := y.api.ImageRemove(ctx, y.image, client.ImageRemoveOptions{PruneChildren: true}); err != nil {
		fmt.Fprintln(os.Stderr, "bench: the image", y.image, "is left:", err)
	}
}

// builtIn is a run of one step against a model that answers from a file.
func (y *dockerProject) builtIn(ctx context.Context, cassette string, flags ...string) func() *exec.Cmd {
	start := command(ctx, y.home, y.programs, "", slices.Concat([]string{"bench", "go", "--json", "--provider", "replay", "--cassette", cassette}, flags)...)
	return func() *exec.Cmd {
		cmd := start()
		cmd.Dir = y.dir
		cmd.Env = []string{"HOME=" + y.home, "PATH=" + os.Getenv("PATH")}
		for _, name := range []string{"DOCKER_HOST", "DOCKER_API_VERSION", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"} {
			if value, ok := os.LookupEnv(name); ok {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
		return cmd
	}
}

func (y *dockerProject) inDocker(ctx context.Context, cassette string, flags ...string) func() *exec.Cmd {
	return y.builtIn(ctx, cassette, append([]string{"--runtime", "docker"}, flags...)...)
}

// roundTimes are those of one round.
type roundTimes struct {
	builtIn, docker cost
	bare            time.Duration
}

func (t roundTimes) longer() float64 { return milliseconds(t.docker.elapsed - t.builtIn.elapsed) }
func (t roundTimes) ofBare() float64 { return milliseconds(t.bare) }
func (t roundTimes) factor() float64 { return t.longer() / t.ofBare() }
func (t roundTimes) cpu() float64    { return t.docker.times(t.builtIn) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// middle is the median of one value of all rounds.
func middle(all []roundTimes, of func(roundTimes) float64) float64 {
	values := make([]float64, len(all))
	for i, t := range all {
		values[i] = of(t)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// times measures the three by turns. The result is the median of the ratios of
// each round: a daemon that others use as well is slow at everything.
func (y *dockerProject) times(ctx context.Context, n int) (all []roundTimes, err error) {
	for range n {
		var t roundTimes
		if t.builtIn, err = y.measured(ctx, 1, 0, y.builtIn(ctx, "quick.toml")); err != nil {
			return nil, err
		}
		if t.bare, err = y.bareContainer(ctx); err != nil {
			return nil, err
		}
		if t.docker, err = y.measured(ctx, 1, 0, y.inDocker(ctx, "quick.toml")); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// bareContainer does what docker run --rm does.
func (y *dockerProject) bareContainer(ctx context.Context) (took time.Duration, err error) {
	begin := time.Now()
	made, err := y.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{Image: y.image, Cmd: []string{"--version"}, AttachStdout: true},
	})
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_, failed := y.api.ContainerRemove(context.WithoutCancel(ctx), made.ID, client.ContainerRemoveOptions{Force: true})
			err = errors.Join(err, failed)
		}
	}()
	attached, err := y.api.ContainerAttach(ctx, made.ID, client.ContainerAttachOptions{Stream: true, Stdout: true})
	if err != nil {
		return 0, err
	}
	defer attached.Close()
	wait := y.api.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := y.api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return 0, err
	}
	var said bytes.Buffer
	if _, err := said.ReadFrom(attached.Reader); err != nil || said.Len() == 0 {
		return 0, fmt.Errorf("the container said %q: %w", said.Bytes(), err)
	}
	select {
	case <-wait.Result:
	case err := <-wait.Error:
		return 0, err
	}
	_, err = y.api.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{})
	return time.Since(begin), err
}
