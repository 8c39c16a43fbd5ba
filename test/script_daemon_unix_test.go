//go:build unix

package test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/internal/process"
)

// TestPerstackd runs the scripts about the program for servers. Beside the usual commands they have:
//
//	serve [FLAGS]    starts perstackd registry on a free port; $URL is its address, and the file first.key
//	                 has its first key, if it printed one
//	stop             ends it with SIGTERM, and checks how; what it logged is in server.log
func TestPerstackd(t *testing.T) {
	program, err := exec.LookPath("perstackd")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/perstackd",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Values[runningKey{}] = &daemonProcess{}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve": func(ts *testscript.TestScript, _ bool, args []string) { startDaemon(ts, program, args) },
			"stop":  func(ts *testscript.TestScript, _ bool, _ []string) { stopDaemon(ts) },
		},
	})
}

type runningKey struct{}

// A daemonProcess is the one that a script has started.
type daemonProcess struct{ cmd *exec.Cmd }

func startDaemon(ts *testscript.TestScript, program string, args []string) {
	at := func(name string) string { return filepath.Join(ts.Getenv("WORK"), name) }
	logged, err := os.Create(at("server.log"))
	ts.Check(err)
	cmd := exec.Command(program, append([]string{"registry", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.Getenv("WORK"), logged
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "XDG_STATE_HOME=" + ts.Getenv("XDG_STATE_HOME"), "PATH=" + ts.Getenv("PATH")}
	url, key, err := launchDaemon(cmd)
	ts.Defer(func() {
		_ = cmd.Process.Kill() // if the script did not end it
		_ = cmd.Wait()
		_ = logged.Close()
	})
	if err != nil {
		log, _ := os.ReadFile(logged.Name())
		ts.Fatalf("the server did not start: %v: %s", err, log)
	}
	ts.Value(runningKey{}).(*daemonProcess).cmd = cmd
	ts.Setenv("URL", url)
	if key != "" {
		ts.Check(os.WriteFile(at("first.key"), []byte("Authorization: Bearer "+key), 0o600))
	}
}

// launchDaemon starts a registry, and reads where it listens, and its first key if it prints one.
func launchDaemon(cmd *exec.Cmd) (url, key string, err error) {
	told, err := cmd.StdoutPipe()
	if err != nil {
		return "", "", err
	}
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	lines := bufio.NewReader(told)
	for line := ""; !strings.HasPrefix(line, "Log key:"); {
		if line, err = lines.ReadString('\n'); err != nil {
			return "", "", err
		}
		if address, ok := strings.CutPrefix(line, "Registry: "); ok {
			url = strings.TrimSpace(address)
		}
	}
	rest, err := lines.Peek(lines.Buffered()) // everything is written at once
	if i := bytes.Index(rest, []byte("psk_")); i >= 0 {
		key = string(bytes.TrimSpace(rest[i:]))
	}
	return url, key, err
}

func stopDaemon(ts *testscript.TestScript) {
	s := ts.Value(runningKey{}).(*daemonProcess)
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	_ = s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != process.ExitTerminate {
		ts.Fatalf("exit code %d after SIGTERM", code)
	}
}
