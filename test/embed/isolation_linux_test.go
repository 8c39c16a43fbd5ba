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
	"github.com/perstack-go/perstack/expert"
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
	spec.Isolation.Sandbox = expert.SandboxOff
	if got := seen(t, spec, perstack.Parts{}); !strings.Contains(got, "the treasure map") {
		t.Errorf("without a sandbox: %q", got)
	}
	for _, level := range []expert.SandboxLevel{"", expert.SandboxAuto, expert.SandboxFull, expert.SandboxLandlock} {
		spec.Isolation.Sandbox = level
		if got := seen(t, spec, perstack.Parts{}); strings.Contains(got, "the treasure map") || !strings.Contains(got, "ermission denied") && !strings.Contains(got, "No such file") {
			t.Errorf("level %q: %q", level, got)
		}
	}
}

// inContainer is a job that reads a file of its workspace in a container.
func inContainer(t *testing.T) job.Spec {
	t.Helper()
	if testing.Short() {
		t.Skip("it makes an image")
	}
	if err := exec.CommandContext(t.Context(), "docker", "info").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI needs a Docker daemon: %v", err)
		}
		t.Skipf("no Docker daemon: %v", err)
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
	return spec
}

// The Spec alone runs the whole Expert in a container. The program that goes into it is the
// embedding program, this test.
func TestDocker(t *testing.T) {
	spec := inContainer(t)
	text, err := perstack.Answer(t.Context(), spec, perstack.Parts{Environ: without(linuxBinary)})
	if err != nil && strings.Contains(err.Error(), "CGO_ENABLED=0") && os.Getenv("CI") == "" {
		t.Skipf("this test was built with cgo: %v", err)
	}
	if err != nil || text != "It is on Tuesday." {
		t.Errorf("%q, %v", text, err)
	}
}

// A program whose main function does not call Init cannot go into a container. The error
// says so, and names the variable.
func TestDockerWithoutInit(t *testing.T) {
	spec := inContainer(t)
	if os.Getenv(withoutInit) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), withoutInit+"=1")
		if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	_, err := perstack.Answer(t.Context(), spec, perstack.Parts{Environ: without(linuxBinary)})
	for _, want := range []string{"static perstack for linux/" + runtime.GOARCH, os.Args[0], linuxBinary} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if err != nil && !strings.Contains(err.Error(), "perstack.Init") && !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("%v does not say what to do", err)
	}
}

// linuxBinary names a perstack that goes into containers in place of this program.
const linuxBinary = "PERSTACK_LINUX_BINARY"

func TestDockerWithPerstack(t *testing.T) {
	spec := inContainer(t)
	program := filepath.Join(t.TempDir(), "perstack")
	with := perstack.Parts{Environ: append(without(linuxBinary), linuxBinary+"="+program)}
	if _, err := perstack.Answer(t.Context(), spec, with); err == nil || !strings.Contains(err.Error(), linuxBinary) || !strings.Contains(err.Error(), program) {
		t.Errorf("a program that does not exist: %v", err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./cmd/perstack")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, _ := answer(t, spec, with); text != "It is on Tuesday." {
		t.Errorf("%q", text)
	}
}

// without is the environment without a variable.
func without(name string) []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, name+"=") })
}
