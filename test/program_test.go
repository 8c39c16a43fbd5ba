package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/daemon"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/testkit/allow"
	"github.com/perstack-go/perstack/internal/testkit/atlevel"
	"github.com/perstack-go/perstack/internal/testkit/fixed"
	"github.com/perstack-go/perstack/internal/testkit/history"
)

// watched is perstack in this very program: with go test -race, with the race detector.
// Its processes are many times slower, so perstack itself is then built without it.
const watched = "perstack-watched"

func TestMain(m *testing.M) {
	initScreen()
	sandbox.Init()
	hostile.Init()
	perstack := func() { os.Exit(fixed.Main(os.Args[1:])) }
	testscript.Main(prepared{m}, map[string]func(){
		"perstack": perstack, watched: perstack,
		"perstackd":  func() { os.Exit(daemon.Main(context.Background(), host.System(), os.Args[1:])) },
		atlevel.Name: func() { os.Exit(atlevel.Main(os.Args)) },
	})
}

// prepared are the tests with their programs: the PATH has them for all.
type prepared struct{ *testing.M }

func (p prepared) Run() int {
	code, err := p.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func (p prepared) run() (code int, err error) {
	// Most tests in Go are about what holds without a sandbox, and their workspace is their home.
	// The others name a level, and scripts do not have this variable.
	if err := os.Setenv("PERSTACK_SANDBOX", "off"); err != nil {
		return 0, err
	}
	dir, err := programDir()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := history.Isolate(filepath.Join(dir, "state")); err != nil {
		return 0, err
	}
	if err := allow.Isolate(filepath.Join(dir, "config")); err != nil {
		return 0, err
	}
	if raced {
		program, err := compiled("fixed", "internal/testkit/perstack")
		if err != nil {
			return 0, err
		}
		if err := os.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			return 0, err
		}
	}
	return p.M.Run(), nil
}

// programDir has the programs until the last test has ended.
var programDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "perstack-programs") })

// released is perstack as users have it, built for the first test that wants it.
var released = sync.OnceValues(func() (string, error) { return compiled("released", "cmd/perstack") })

// program returns perstack as users have it: it hardens its process before anything else.
func program(t *testing.T) string {
	t.Helper()
	path, err := released()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// compiled builds a program called perstack like make build, so that both find the same
// in Go's cache.
func compiled(name, pkg string) (string, error) {
	dir, err := programDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name, "perstack")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/perstack-go/perstack/"+pkg)
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}
