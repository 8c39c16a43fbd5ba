package testkit

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// PageBlock compares got with a block of a page, which begins and ends with a comment that names it.
// With -update it writes the block. The package is how go test calls that of the test.
func PageBlock(t testing.TB, path, pkg, name, got string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- written by go test %s -update: %s -->\n", pkg, name), fmt.Sprintf("<!-- end of %s -->\n", name)
	before, rest, ok := strings.Cut(string(page), begin)
	block, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no block %s", path, name)
	}
	if block == got {
		return
	}
	if !*Update {
		t.Errorf("%s: the block %s is not what the program has; go test %s -update writes it. It is\n%s\nand should be\n%s", path, name, pkg, block, got)
		return
	}
	if err := os.WriteFile(path, []byte(before+begin+got+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
