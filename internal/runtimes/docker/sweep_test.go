package docker

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/owner"
	testdaemon "github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/jail"
	"github.com/perstack-go/perstack/job"
)

// What a process has on the daemon stays while it lives, and is removed by the next when
// it was killed (K8).
func TestKilledRunIsSwept(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	plan := testPlan(t)
	child, said := startRun(t, plan)

	start, err := said.ReadString('\n')
	if err != nil {
		t.Fatalf("the other process did not come up: %v", err)
	}
	start = strings.TrimSpace(start)
	if _, _, err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := left(t, d, start); len(list) != 4 {
		t.Errorf("of a living process is left: %q", list)
	}

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if list := left(t, d, start); len(list) != 4 {
		t.Errorf("before the sweep there is %q", list)
	}
	// Another test may sweep at the same time: what counts is what is left.
	if _, _, err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := left(t, d, start); len(list) != 0 {
		t.Errorf("after the sweep there is %q", list)
	}
}

// errand is what the other process of a test is told.
type errand struct {
	Image, Workspace, Home, Job string
	UID, GID                    int
}

const errandVariable = "PERSTACK_TEST_ERRAND"

// startRun starts another process that has a site and a container of its own.
func startRun(t *testing.T, plan sitePlan) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	told, err := json.Marshal(errand{plan.image, plan.cover.Dir, t.TempDir(), plan.spec.JobID, plan.cover.UID, plan.cover.GID})
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^TestBeARun$")
	child.Env = append(os.Environ(), errandVariable+"="+string(told))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() })
	return child, bufio.NewReader(out)
}

// TestBeARun is the other process.
func TestBeARun(t *testing.T) {
	told, ok := os.LookupEnv(errandVariable)
	if !ok {
		return
	}
	var task errand
	if err := json.Unmarshal([]byte(told), &task); err != nil {
		t.Fatal(err)
	}
	// Its directories are the other test's: this process is killed and removes nothing.
	d, err := Connect(t.Context(), os.Getenv, task.Home)
	if err != nil {
		t.Fatal(err)
	}
	plan := sitePlan{
		cover:     Cover{Dir: task.Workspace, UID: task.UID, GID: task.GID},
		listeners: []egress.Listener{{Name: "engine"}},
		image:     task.Image, log: quiet(),
	}
	plan.spec.JobID, plan.spec.Isolation.Container = task.Job, job.DefaultContainer()
	s, err := d.build(t.Context(), plan, func(event.Body) {})
	if err != nil {
		t.Fatal(err)
	}
	enter(t, s, jail.Task{Hold: true})
	os.Stdout.WriteString(s.start + "\n")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
}

// Only what belongs to a process of this machine that is certainly gone is removed.
func TestSweepLeavesOthers(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	me := owner.This()
	change := func(do func(*owner.Identity)) string {
		id := me
		do(&id)
		return id.String()
	}
	for _, c := range []struct {
		name   string
		labels map[string]string
		swept  bool
	}{
		{"before the last boot", map[string]string{labelKind: kindRun, labelOwner: change(func(id *owner.Identity) { id.BootID = "0000" })}, true},
		{"its number was given out again", map[string]string{labelKind: kindRun, labelOwner: change(func(id *owner.Identity) { id.StartTime = "1" })}, true},
		{"this process", map[string]string{labelKind: kindRun, labelOwner: me.String()}, false},
		{"another machine", map[string]string{labelKind: kindRun, labelOwner: change(func(id *owner.Identity) { id.Machine = "ff"; id.BootID = "0000" })}, false},
		{"another container", map[string]string{labelKind: kindRun, labelOwner: change(func(id *owner.Identity) { id.PIDNamespace = "1"; id.BootID = "0000" })}, false},
		{"no owner", map[string]string{labelKind: kindRun}, false},
		{"an owner in an unknown format", map[string]string{labelKind: kindRun, labelOwner: "2_x"}, false},
		{"not of a run", map[string]string{labelKind: "other", labelOwner: change(func(id *owner.Identity) { id.BootID = "0000" })}, false},
		{"without labels", nil, false},
	} {
		if got := isOrphan(c.labels); got != c.swept {
			t.Errorf("%s: orphan %v", c.name, got)
		}
		name := testdaemon.Name(t)
		if _, err := moby(t, d).NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "bridge", Internal: true, Labels: c.labels}); err != nil {
			t.Fatal(err)
		}
		testdaemon.RemoveNetwork(t, moby(t, d), name)
		if _, _, err := d.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := moby(t, d).NetworkInspect(t.Context(), name, client.NetworkInspectOptions{})
		if got := errdefs.IsNotFound(err); got != c.swept {
			t.Errorf("%s: removed %v, %v", c.name, got, err)
		}
	}
}

func TestLabels(t *testing.T) {
	labels := ownLabels("job", "start")
	id, err := owner.Parse(labels[labelOwner])
	if err != nil || id.PID != os.Getpid() || isOrphan(labels) {
		t.Errorf("the owner is %+v, %v", id, err)
	}
	if labels[labelKind] != kindRun || labels[labelJob] != "job" || labels[labelRun] != "start" || len(labels) != 4 {
		t.Errorf("labels: %v", labels)
	}
	if a, b := newStart(), newStart(); a == b || len(a) != 12 {
		t.Errorf("starts %s and %s", a, b)
	}
}

// A container that inherited the labels of ours, from an image that a user committed, is not ours.
func TestContainersOfOurs(t *testing.T) {
	labels := ownLabels("job", "0a1b2c")
	for _, test := range []struct {
		names []string
		ours  bool
	}{
		{[]string{"/perstack-0a1b2c-runtime"}, true},
		{[]string{"perstack-0a1b2c-image"}, true}, // as Podman writes it
		{[]string{"/brave_curie"}, false},
		{[]string{"/perstack-ffffff-runtime"}, false},
		{[]string{"/my-perstack-0a1b2c-runtime"}, false},
		{nil, false},
	} {
		if got := hasOurName(container.Summary{Names: test.names, Labels: labels}); got != test.ours {
			t.Errorf("%v: ours %v", test.names, got)
		}
	}
}
