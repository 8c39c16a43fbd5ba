package mcp_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// commands runs the servers of all tests, and built has the program that they run.
var (
	commands = sandbox.NewSupervisor()
	built    struct {
		once sync.Once
		dir  string
	}
)

func TestMain(m *testing.M) {
	sandbox.Init()
	flag.Parse()
	err := flag.Set("test.parallel", "8") // most tests wait for a process
	if err == nil {
		built.dir, err = os.MkdirTemp("", "evilmcp")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := commands.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := os.RemoveAll(built.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// program is the evil MCP server, built once.
func program(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		made := evil.Program(t)
		if err := os.Rename(made, filepath.Join(built.dir, filepath.Base(made))); err != nil {
			t.Fatal(err)
		}
	})
	found, err := filepath.Glob(filepath.Join(built.dir, "evilmcp*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the evil MCP server was not built: %v", err)
	}
	return found[0]
}
