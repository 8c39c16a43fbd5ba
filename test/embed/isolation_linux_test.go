package embed

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// reading is an Expert that reads a file outside of its workspace with a command.
func reading(t *testing.T) (spec job.Spec) {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("the treasure map"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec = newSpec(t, "Read it.")
	play(t, &spec, `
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "cat", args = ["`+secret+`"], env = {}, cwd = ".", stdout = true, stderr = true }
[[turn]]
text = "Tried."
`)
	return spec
}

// seen returns what the command printed.
func seen(t *testing.T, spec job.Spec, parts perstack.Parts) string {
	t.Helper()
	var out strings.Builder
	for e, err := range perstack.Run(t.Context(), spec, parts) {
		if err != nil {
			if strings.Contains(err.Error(), "Landlock") && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case event.ResolveToolResults:
			for _, r := range b.ToolResults {
				out.WriteString(event.FirstText(r.Result))
			}
		case event.StopRunByError:
			t.Fatal(b.Error.Message)
		}
	}
	return out.String()
}

// The Spec alone puts commands into a sandbox.
func TestSandbox(t *testing.T) {
	spec := reading(t)
	if got := seen(t, spec, perstack.Parts{}); !strings.Contains(got, "the treasure map") {
		t.Errorf("without a sandbox: %q", got)
	}
	spec.Isolation.Sandbox = true
	if got := seen(t, spec, perstack.Parts{}); strings.Contains(got, "the treasure map") || !strings.Contains(got, "ermission denied") {
		t.Errorf("in a sandbox: %q", got)
	}
}

// The Spec alone runs the whole Expert in a container. The program that goes into it is
// perstack, which an embedding program names in PERSTACK_LINUX_BINARY.
func TestDocker(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes an image")
	}
	if err := exec.CommandContext(t.Context(), "docker", "info").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI needs a Docker daemon: %v", err)
		}
		t.Skipf("no Docker daemon: %v", err)
	}
	program := filepath.Join(t.TempDir(), "perstack")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./cmd/perstack")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	spec := newSpec(t, "Read it.")
	if err := os.WriteFile(filepath.Join(spec.Workspace.Dir, "note.txt"), []byte("On Tuesday."), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // nothing in a container runs as root
		const user = 1000
		for _, path := range []string{spec.Workspace.Dir, filepath.Join(spec.Workspace.Dir, "note.txt")} {
			if err := os.Lchown(path, user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	play(t, &spec, `
[[turn]]
[[turn.call]]
tool = "readTextFile"
args = { path = "note.txt" }
[[turn]]
contains = "On Tuesday."
text = "It is on Tuesday."
`)
	spec.Runtime = job.Docker
	// Without it, the error names the variable, and what was found instead.
	_, err := perstack.Answer(t.Context(), spec, perstack.Parts{Environ: without("PERSTACK_LINUX_BINARY")})
	for _, want := range []string{"static perstack for linux/" + runtime.GOARCH, os.Args[0], "PERSTACK_LINUX_BINARY"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without a program for the container: %v, want %q in it", err, want)
		}
	}
	text, _ := answer(t, spec, perstack.Parts{Environ: append(os.Environ(), "PERSTACK_LINUX_BINARY="+program)})
	if text != "It is on Tuesday." {
		t.Errorf("%q", text)
	}
}

// without is the environment without a variable.
func without(name string) []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, name+"=") })
}
