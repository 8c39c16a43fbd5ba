// Package containers starts a real container registry for tests: the program docker-registry.
package containers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// A Registry is one that runs on this machine.
type Registry struct {
	Host string // 127.0.0.1 and a port
	stop func()
}

// Stop ends it. It can be called again.
func (r *Registry) Stop() { r.stop() }

// Start starts a registry that is empty, until the test ends.
func Start(t *testing.T) *Registry {
	t.Helper()
	testkit.Need(t, "docker-registry")
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog:\n  formatter: text\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: 127.0.0.1:0\n", dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // until the test has cleaned up
	cmd := exec.CommandContext(ctx, "docker-registry", "serve", config)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)
	said, address := bufio.NewScanner(stderr), ""
	for address == "" && said.Scan() {
		if found := listening.FindStringSubmatch(said.Text()); found != nil {
			address = found[1]
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, stderr)
	}()
	r := &Registry{Host: address, stop: sync.OnceFunc(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // we killed it
	})}
	t.Cleanup(r.Stop)
	if address == "" {
		t.Fatal("the registry does not say where it listens")
	}
	return r
}
