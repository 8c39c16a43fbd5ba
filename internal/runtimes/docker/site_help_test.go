package docker

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	testdaemon "github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/jail"
	"github.com/perstack-go/perstack/job"
)

// realDaemon connects to the daemon of this machine.
func realDaemon(t *testing.T) *Daemon {
	t.Helper()
	testdaemon.Need(t)
	d, err := Connect(t.Context(), os.Getenv, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// moby returns Docker's own client for a daemon: tests look at what our client did with
// another one.
func moby(t *testing.T, d *Daemon) *client.Client {
	t.Helper()
	c, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// jailImage is an image whose program tries the isolation, and plays the proxy.
func jailImage(t *testing.T) string {
	t.Helper()
	return testdaemon.Image(t, map[string]string{binaryPath: testdaemon.Program(t, "./internal/testkit/jail/jaild")})
}

// someone returns a workspace and its owner: another user if root runs the tests.
func someone(t *testing.T) (dir string, uid, gid int) {
	t.Helper()
	dir = t.TempDir()
	uid, gid = os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 4711, 4712
		give(t, dir, uid, gid)
	}
	if gid == 0 {
		gid = uid
	}
	return dir, uid, gid
}

func give(t *testing.T, name string, uid, gid int) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	if err := os.Lchown(name, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// put writes files of the workspace, by their relative paths.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Whatever was made belongs to the owner of the workspace.
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	uid, gid, err := ownerOf(dir, info)
	if err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error {
		give(t, p, uid, gid)
		return nil
	})
}

func testPlan(t *testing.T) sitePlan {
	t.Helper()
	dir, uid, gid := someone(t)
	limits := job.DefaultContainer()
	limits.Memory, limits.MemoryReservation, limits.TmpSize, limits.CacheSize = 256<<20, 32<<20, 4<<20, 2<<20
	limits.CPUs, limits.PIDs, limits.StartTimeout = 1, 40, time.Minute
	plan := sitePlan{
		cover:     Cover{Dir: dir, UID: uid, GID: gid},
		listeners: []egress.Listener{{Name: "engine", Token: "token-of-the-engine"}, {Name: "expert @base"}},
		image:     jailImage(t), log: quiet(),
	}
	plan.spec.JobID, plan.spec.Isolation.Container = "test-"+newStart(), limits
	return plan
}

// A notebook keeps what is reported.
type notebook struct {
	mu     sync.Mutex
	bodies []event.Body
	fresh  chan struct{}
}

func (n *notebook) report(b event.Body) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bodies = append(n.bodies, b)
	if n.fresh != nil {
		close(n.fresh)
		n.fresh = nil
	}
}

// until waits for a report.
func (n *notebook) until(t *testing.T, is func(event.Body) bool) event.Body {
	t.Helper()
	return n.untilThere(t, 1, is)
}

// untilThere waits for so many of a kind, and returns the last of them.
func (n *notebook) untilThere(t *testing.T, many int, is func(event.Body) bool) event.Body {
	t.Helper()
	for {
		n.mu.Lock()
		found := 0
		for _, b := range n.bodies {
			if is(b) {
				found++
			}
			if found == many {
				n.mu.Unlock()
				return b
			}
		}
		if n.fresh == nil {
			n.fresh = make(chan struct{})
		}
		fresh := n.fresh
		n.mu.Unlock()
		select {
		case <-fresh:
		case <-time.After(time.Minute):
			t.Fatalf("it was not reported; what was: %+v", n.bodies)
		}
	}
}

// statuses lists how a container was.
func (n *notebook) statuses(service role) (list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.bodies {
		if s, ok := b.(event.DockerContainerStatus); ok && s.Service == string(service) {
			list = append(list, s.Status)
		}
	}
	return list
}

func buildSite(t *testing.T, d *Daemon, plan sitePlan) (*Site, *notebook) {
	t.Helper()
	notes := &notebook{}
	s, err := d.build(t.Context(), plan, notes.report)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, notes
}

// enter starts the container, sets the program inside a task and returns what it saw.
func enter(t *testing.T, s *Site, task jail.Task) (jail.Report, *Container) {
	t.Helper()
	c, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(os.Stderr, c.Stderr) }()
	data, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stdin.Write(append(data, '\n')); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(c.Stdout)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatalf("nothing came out: %v; %+v", err, <-c.Exited)
	}
	var r jail.Report
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	c.Stdout = lines
	return r, c
}

// left lists what a start has on the daemon.
func left(t *testing.T, d *Daemon, start string) (list []string) {
	t.Helper()
	containers, networks, err := listed(context.WithoutCancel(t.Context()), d, ofRuns, labelRun+"="+start)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers {
		list = append(list, c.Names...)
	}
	for _, n := range networks {
		list = append(list, n.Name)
	}
	return list
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// listed returns the containers and networks that have the labels.
func listed(ctx context.Context, d *Daemon, labels ...string) ([]container.Summary, []network.Summary, error) {
	containers, err := d.api.Containers(ctx, labels...)
	if err != nil {
		return nil, nil, err
	}
	networks, err := d.api.Networks(ctx, labels...)
	return containers, networks, err
}
