//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Commands do not get what our parent left open: neither a pipe nor a file with another
// number. The supervisor sees to that even if Harden was not called.
func TestHardenInheritedDescriptors(t *testing.T) {
	secret, err := os.CreateTemp(t.TempDir(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	// One script for all: it tells, without our help, what it was given.
	const script = `for fd in 3 4 5 6 7 8 9; do if (eval "echo leaked >&$fd") 2>/dev/null; then echo "has $fd"; fi; done; ls -l /proc/self/fd 2>/dev/null; exit 0`
	for role, sealed := range map[string]bool{"exec": false, "shieldAndExec": true, "sealAndExec": true, "run": true, "shieldAndRun": true} {
		t.Run(role, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			c := self(t, role, "sh", "-c", script)
			cmd := exec.Command(c.Program, c.Args...)
			cmd.ExtraFiles = []*os.File{w, secret}
			out, err := cmd.CombinedOutput()
			w.Close()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			leaked := make([]byte, 100)
			n, _ := r.Read(leaked)
			found := strings.Contains(string(out), "has ") || strings.Contains(string(out), secret.Name()) || n > 0
			if found == sealed {
				t.Errorf("leaked: %t\n%s", found, out)
			}
			if !strings.HasPrefix(string(out), "exit 0, error <nil>\n") {
				t.Errorf("the command did not run: %s", out)
			}
		})
	}
}
