//go:build root && linux

package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// TestRootDaemonDies is finding T18: when the Docker daemon is killed, nothing ends the containers
// of a run, and nothing closes what they read from. They end by themselves, with all commands.
// The daemon is one of the test's own.
func TestRootDaemonDies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for containers that notice a silence of 15 seconds")
	}
	own := daemon.Start(t)
	probed, err := os.ReadFile(daemon.Program(t, "./internal/testkit/probe/probed"))
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: t.TempDir(), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DOCKER_HOST=" + own.Host}}
	for _, name := range []string{"TMPDIR", "XDG_STATE_HOME"} {
		if value := os.Getenv(name); value != "" {
			p.env = append(p.env, name+"="+value)
		}
	}
	p.write("perstack.toml", []byte("[docker]\nidleTimeout = \"15s\"\n"+worker), 0o644)
	p.write("answers.toml", []byte(lingering(t)), 0o644)
	p.write("probed", probed, 0o755)
	s := p.start("worker", "go", "--provider", "replay", "--cassette", "answers.toml")
	p.awaitLingering(s)

	api := own.Client()
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("the containers of a run are %v, %v", list.Items, err)
	}
	processes := map[string]int{} // by name of the container
	for _, c := range list.Items {
		found, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(found.Container.State.Pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		processes[filepath.Base(found.Container.Name)] = fd
	}
	own.Kill()
	if code := s.end(); code != 1 || !strings.Contains(s.stderr(), "resume with: ") {
		t.Errorf("exit code %d: %s", code, s.stderr())
	}
	for name, fd := range processes {
		// Until the process has ended. With it goes the PID namespace, and all that is in it.
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err == nil {
				break
			}
		}
		t.Logf("%s has ended", name)
		attack.Held(t, "T18", 1)
	}
}
