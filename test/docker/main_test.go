//go:build linux

package docker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/allow"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/history"
	"github.com/perstack-go/perstack/internal/testkit/world"
)

// The world, the program and the probe are made once: each takes seconds.
var shared struct {
	once   sync.Once
	lasts  lasting
	world  *world.World
	probed string
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "perstack-state")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(history.Isolate(dir), allow.Isolate(filepath.Join(dir, "config")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.lasts.end()
	return m.Run()
}

// need returns what all tests share, and makes it for the first of them.
func need(t *testing.T) *world.World {
	t.Helper()
	daemon.Need(t) // each test is skipped by itself where there is no daemon
	shared.once.Do(func() {
		shared.lasts.TB = t
		shared.probed = daemon.Program(t, "./internal/testkit/probe/probed")
		shared.world = world.Start(&shared.lasts)
	})
	if shared.world == nil {
		t.Fatal("the world could not be made; see the first test")
	}
	return shared.world
}

// lasting is a test whose clean-up waits for the end of
// all tests.
type lasting struct {
	testing.TB
	cleanups []func()
	over     bool
}

func (l *lasting) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

func (l *lasting) Errorf(format string, args ...any) {
	if l.over {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		return
	}
	l.TB.Errorf(format, args...)
}

func (l *lasting) end() {
	l.over = true
	for _, f := range slices.Backward(l.cleanups) {
		f()
	}
}
