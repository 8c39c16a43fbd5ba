//go:build linux

package docker

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/mutant"
)

// auditing is perstack audit, not started.
func auditing(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "audit", "--format", "json")
	cmd.Dir = t.TempDir()
	return cmd
}

// checkAuditLeft looks for what an audit has left on the daemon.
func checkAuditLeft(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if left := leftovers(t, jobLabel(fmt.Sprint("audit", cmd.Process.Pid))); len(left) > 0 {
		t.Errorf("the audit has left: %s", strings.Join(left, "; "))
	}
}

// claims runs an audit. It returns the images that its containers had, too.
func claims(t *testing.T, program string) (all []audit.Claim, images []string) {
	t.Helper()
	cmd := auditing(t, program)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	api, ended := daemon.Need(t), make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	code := -1
	for code < 0 {
		select {
		case err := <-ended:
			code = exitCode(t, err)
		case <-time.After(100 * time.Millisecond): // containers live for seconds
			images = append(images, imagesOf(t, api, cmd)...)
		}
	}
	checkAuditLeft(t, cmd)
	var report struct{ Claims []audit.Claim }
	if err := json.Unmarshal(out.Bytes(), &report, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("exit code %d: %v: %s", code, err, &errs)
	}
	slices.Sort(images)
	return report.Claims, slices.Compact(images)
}

// imagesOf lists the images of the containers that an audit has.
func imagesOf(t *testing.T, api *client.Client, cmd *exec.Cmd) (ids []string) {
	t.Helper()
	filter := make(client.Filters).Add("label", jobLabel(fmt.Sprint("audit", cmd.Process.Pid)))
	found, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Items {
		ids = append(ids, c.ImageID)
	}
	return ids
}

// An audit verifies the promises of containers with containers, and leaves nothing behind.
func TestAudit(t *testing.T) {
	need(t)
	want := strings.Fields("N1 N7 K1 K2 K3 K4 K6 K7 K8")
	all, _ := claims(t, daemon.Binary(t))
	for _, c := range all {
		if slices.Contains(want, c.ID) && (c.Status != audit.Verified || !strings.Contains(c.Runtime, audit.Docker)) || c.Status == audit.Failed {
			t.Errorf("%s is %s: %s: %s", c.ID, c.Status, c.Runtime, c.Reason)
		}
	}
}

// An audit that is interrupted while it has containers removes them.
func TestAuditInterrupted(t *testing.T) {
	need(t)
	cmd := auditing(t, daemon.Binary(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(leftovers(t, jobLabel(fmt.Sprint("audit", cmd.Process.Pid)))) < 3 {
		if t.Context().Err() != nil || cmd.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatal("the audit never had containers")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d", code)
	}
	checkAuditLeft(t, cmd)
}

// The audit of a perstack whose containers lack one protection reports exactly its promise.
func TestAuditOfMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds perstack several times")
	}
	need(t)
	for name, m := range map[string]struct{ file, with, without, promises string }{
		"capabilities stay":          {"docker/container.go", "\t\tCapDrop:        []string{\"ALL\"},\n", "", "K1"},
		"the root can be written":    {"docker/container.go", "\t\tReadonlyRootfs: true,\n", "", "K2"},
		"processes are not limited":  {"docker/container.go", "\thost.PidsLimit = new(int64(limits.PIDs))\n", "", "K3"},
		"env files are not masked":   {"docker/container.go", "slices.Concat(maskedPaths(), s.plan.cover.Masked)", "maskedPaths()", "K4"},
		"/tmp has no size":           {"docker/container.go", "scratch(limits.TmpSize, \"exec\")", "scratch(1<<30, \"exec\")", "K6"},
		"the disk has no limit":      {"local/limits.go", "\t\topen = []string{c.Workspace} // the other directories are in memory, and have a size\n", "", "K6"},
		"a token is in a variable":   {"docker/container.go", "[]string{\"HOME=\" + homeDir,", "[]string{\"TOKEN=\" + s.plan.listeners[0].Token, \"HOME=\" + homeDir,", "K7"},
		"killed runs are not swept":  {"docker/cleanup.go", "return err == nil && id.Dead()", "return err == nil && id.Dead() && false", "K8"},
		"the host is on the network": {"docker/network.go", "{\"com.docker.network.bridge.inhibit_ipv4\": \"true\"}", "{}", "N1 N7"},
	} {
		t.Run(name, func(t *testing.T) {
			var failed []string
			all, images := claims(t, mutant.Build(t, "internal/runtimes/"+m.file, m.with, m.without))
			for _, id := range images { // no other program uses them
				daemon.RemoveImage(t, daemon.Need(t), id)
			}
			for _, c := range all {
				if c.Status == audit.Failed {
					failed = append(failed, c.ID)
					t.Logf("%s: %s", c.ID, c.Reason)
				}
			}
			if strings.Join(failed, " ") != m.promises {
				t.Errorf("failed: %v, want %s alone", failed, m.promises)
			}
		})
	}
}
