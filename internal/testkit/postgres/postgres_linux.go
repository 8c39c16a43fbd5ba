package postgres

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// other is the user that the server runs as if the tests run as root, which PostgreSQL refuses.
const other = 65534

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("a database server is started")
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		testkit.Missing(t, "postgresql")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "postgres-") // t.TempDir has a path that is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		attributes.Credential = &syscall.Credential{Uid: other, Gid: other}
		if err := os.Chown(dir, other, other); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // until the test has cleaned up
	t.Cleanup(cancel)
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}, attributes
		return cmd
	}
	run := func(t testing.TB, program string, args ...string) {
		t.Helper()
		if out, err := command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	data := filepath.Join(dir, "data")
	// Its order of texts is that of a language, as on most servers, and not that of bytes.
	run(t, "initdb", "-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
	serve(t, command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"), cancel)
	return &Server{dir: dir, run: run}
}

// serve starts the server, and returns when it takes connections.
func serve(t testing.TB, cmd *exec.Cmd, cancel func()) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // at once, with all its processes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, all, ready := bufio.NewScanner(stderr), []string{}, false
	for !ready && said.Scan() {
		all = append(all, said.Text())
		ready = strings.Contains(said.Text(), "database system is ready to accept connections")
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, stderr)
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // we ended it
	})
	if !ready {
		t.Fatalf("PostgreSQL did not start:\n%s", strings.Join(all, "\n"))
	}
}
