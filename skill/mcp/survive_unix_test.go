//go:build unix

package mcp_test

import (
	"errors"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// No process of a server survives Close, however it behaves: not the one that ignores
// the end of its input, not what it left behind.
func TestNothingSurvives(t *testing.T) {
	b := begun(t, nil, "pid")
	text, _ := b.do("pid", nil)
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		t.Fatalf("the server does not live: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d survived: %v", pid, err)
	}
	for _, mode := range []string{"daemonise", "forkbomb"} {
		file := filepath.Join(t.TempDir(), "alive")
		b := begun(t, nil, mode, "--file", file, "--n", "5")
		if text, _ := b.do(mode, nil); text != `{"done":true}` {
			t.Fatalf("%s: %s", mode, text)
		}
		if alive, err := evil.Alive(file); !alive || err != nil {
			t.Fatalf("%s: alive %t, %v", mode, alive, err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if alive, err := evil.Alive(file); alive || err != nil {
			t.Errorf("%s: alive %t, %v", mode, alive, err)
		}
	}
}
