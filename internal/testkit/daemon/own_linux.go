package daemon

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit"
)

// An Own is a Docker daemon that a test started, and can kill. It has namespaces of its own for
// networks and mounts, so it changes nothing of the machine or of another daemon.
type Own struct {
	Host string // its address
	tb   testing.TB
	dir  string
	run  *exec.Cmd
	said bytes.Buffer
	dead bool // it was killed
}

// Start starts a daemon. When the test ends, what is on the daemon is removed, and the daemon
// ends.
func Start(tb testing.TB) *Own {
	tb.Helper()
	testkit.Need(tb, "dockerd")
	if os.Getuid() != 0 {
		testkit.Missing(tb, "root, who can start a Docker daemon")
	}
	dir, err := os.MkdirTemp("", "d") // short: the path of a socket has a limit
	if err != nil {
		tb.Fatal(err)
	}
	o := &Own{tb: tb, dir: dir, Host: "unix://" + filepath.Join(dir, "s")}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("the daemon is left in %s: %v", dir, err)
		}
	})
	o.Restart()
	tb.Cleanup(o.end)
	return o
}

// Restart starts the daemon, again if it was killed, and waits until it answers.
func (o *Own) Restart() {
	o.tb.Helper()
	o.dead = false
	_ = os.Remove(filepath.Join(o.dir, "pid")) // of one that was killed
	o.run = exec.CommandContext(context.Background(), "dockerd", "--host", o.Host, "--data-root", filepath.Join(o.dir, "data"), "--exec-root", filepath.Join(o.dir, "exec"),
		"--pidfile", filepath.Join(o.dir, "pid"), "--containerd-namespace", filepath.Base(o.dir), "--containerd-plugins-namespace", filepath.Base(o.dir)+"-plugins",
		"--bridge", "none")
	o.said.Reset()
	o.run.Stdout, o.run.Stderr = &o.said, &o.said
	o.run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	if err := o.run.Start(); err != nil {
		o.tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- o.run.Wait() }()
	api := o.Client()
	for {
		ctx, cancel := leaving()
		_, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
		cancel()
		if err == nil {
			return
		}
		select {
		case err := <-ended:
			testkit.Missing(o.tb, "a machine on which a second Docker daemon starts: "+err.Error()+"\n"+o.said.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Client returns a connection to the daemon.
func (o *Own) Client() *client.Client {
	o.tb.Helper()
	api, err := client.New(client.WithHost(o.Host))
	if err != nil {
		o.tb.Fatal(err)
	}
	o.tb.Cleanup(func() { api.Close() })
	return api
}

// Kill kills the daemon, as a crash does.
func (o *Own) Kill() {
	o.tb.Helper()
	if err := o.run.Process.Kill(); err != nil {
		o.tb.Fatal(err)
	}
	o.dead = true
}

func (o *Own) end() {
	ctx, cancel := leaving()
	defer cancel()
	if o.dead { // what it left is for a daemon to remove
		o.Restart()
	}
	o.empty(ctx)
	_ = o.run.Process.Signal(syscall.SIGTERM)
	for o.run.Process.Signal(syscall.Signal(0)) == nil && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// empty removes all containers and networks.
func (o *Own) empty(ctx context.Context) {
	api := o.Client()
	containers, err := api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		o.tb.Error(err)
	}
	for _, c := range containers.Items {
		if _, err := api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			o.tb.Errorf("container %s is left: %v", c.ID, err)
		}
	}
	if _, err := api.NetworkPrune(ctx, client.NetworkPruneOptions{}); err != nil {
		o.tb.Errorf("networks are left: %v", err)
	}
}
