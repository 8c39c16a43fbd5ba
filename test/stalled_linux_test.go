package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/event"
)

// A reader that has stopped reading cannot keep a run from ending.
func TestStalledReader(t *testing.T) {
	dir := t.TempDir()
	for name, text := range slow {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := "[[turn]]\ntext = \"" + strings.Repeat("word ", 100_000) + "\"\n" // more than a pipe holds
	if err := os.WriteFile(filepath.Join(dir, "cassette.toml"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() // open, and never read
	cmd := exec.Command("perstack", "run", "writer", "go", "--job-id", "job")
	cmd.Dir, cmd.Stdout = dir, w
	var stderr lines
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	const almostFull = 60 << 10 // of the 64 KiB that a pipe holds
	waitFor(t, func() bool {
		unread, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		return err == nil && unread > almostFull
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exitCode(t, cmd.Wait()) // that it returns at all is the point
	checkEnd(t, dir, event.StatusStoppedByInterrupt)
}
