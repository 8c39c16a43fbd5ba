package local_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/testkit"
)

// A run whose sandbox is killed continues with a new one, twice. The third time it stops.
func TestSandboxKilledAgainAndAgain(t *testing.T) {
	if offer := local.Offered(t.Context(), ""); offer.Level != expert.SandboxFull {
		testkit.Missing(t, fmt.Sprint(offer.Why))
	}
	cassette := ""
	for range 4 {
		cassette += "[[turn]]\ncall = [{ tool = 'exec', args = { command = 'sh', args = ['-c', 'echo ready; sleep 1000'] } }]\n"
	}
	cassette += "[[turn]]\ntext = 'done'\n"
	killed, lost := 0, 0
	parts := newParts(t, cassette, func(e event.Event) error {
		switch b := e.Body.(type) {
		case event.ToolProgress:
			killed += killHolders(t)
		case event.EndToolCall:
			if text, err := json.Marshal(b); err != nil || strings.Contains(string(text), "what it had done by then is unknown") {
				lost++
			}
		}
		return nil
	})
	spec := teamSpec(t, lone, t.TempDir())
	result, err := local.RunOn(t.Context(), expert.SandboxFull, spec, parts)
	if err != nil || result.Status != event.StatusStoppedByError || !strings.Contains(fmt.Sprint(result.Err, result.Failure), "killed again and again") {
		t.Errorf("%+v, %v", result, err)
	}
	if killed != 3 || lost < 2 {
		t.Errorf("%d sandboxes were killed, and %d results say so", killed, lost)
	}
}

// killHolders kills the children of this process that hold a sandbox, and returns how many.
func killHolders(t *testing.T) (killed int) {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		children, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children") // of one that has ended
		for _, child := range strings.Fields(string(children)) {
			space, err := os.Readlink("/proc/" + child + "/ns/user")
			if err != nil || space == own {
				continue
			}
			if pid, err := strconv.Atoi(child); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	return killed
}
