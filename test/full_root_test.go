//go:build root && linux

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/history"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A full disk ends the run with exit code 1 and a recorded end. When there is space
// again, the job continues where it was.
func TestRootFullDisk(t *testing.T) {
	dir := t.TempDir()
	disk := history.Of(t, dir)
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })

	// Twenty turns of 100 KB each do not fit into 1 MB.
	var cassette strings.Builder
	for i := range 20 {
		fmt.Fprintf(&cassette, "[[turn]]\n[[turn.call]]\ntool = \"writeTextFile\"\nargs = { path = \"%d.txt\", text = %q }\n", i, strings.Repeat("x", 100_000))
	}
	cassette.WriteString("[[turn]]\ntext = \"Worked.\"\n")
	for name, text := range map[string]string{"perstack.toml": slow["perstack.toml"], "cassette.toml": cassette.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("perstack", "run", "writer", "go", "--job-id", "job", "--output", "text")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if code := exitCode(t, err); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(string(out), store.ErrFull.Error()) {
		t.Errorf("output %q does not say %q", out, store.ErrFull)
	}
	checkEnd(t, dir, event.StatusStoppedByError)
	if _, err := store.Verify(t.Context(), file.New(disk, nil), "job"); err != nil {
		t.Error(err)
	}

	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	perstack(t, dir, "run", "--continue-job", "job")
	checkEnd(t, dir, event.StatusCompleted)
}

// Programs have no rights of root: in the workspace of another user they can do what all users can,
// and root is told so.
func TestRootWorkspaceOfAnotherUser(t *testing.T) {
	for _, level := range []string{"full", "landlock", "off"} {
		t.Run(level, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"perstack.toml": slow["perstack.toml"], "notes.txt": "secret notes",
				"cassette.toml": "[[turn]]\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", \"cat notes.txt; echo x > new.txt\"] }\n[[turn]]\ntext = \"Done.\"\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chown(filepath.Join(dir, name), 65534, 65534); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(dir, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("perstack", "run", "writer", "go", "--output", "progress", "--sandbox", level)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !strings.Contains(string(out), "the workspace belongs to another user") {
				t.Errorf("root is not told: %s", out)
			}
			if strings.Contains(string(out), "secret notes") || !strings.Contains(string(out), "Permission denied") {
				t.Errorf("the command read the file: %s", out)
			}
			if _, err := os.Lstat(filepath.Join(dir, "new.txt")); err == nil {
				t.Error("the command made a file")
			}
		})
	}
}
