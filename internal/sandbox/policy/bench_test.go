package policy

import (
	"fmt"
	"strings"
	"testing"
)

// A search of a workspace with as many files as a middle-sized project has.
func BenchmarkSearch(b *testing.B) {
	dir := tempDir(b)
	for i := range 500 {
		for j := range 20 {
			build(b, dir, fmt.Sprintf("d%d/e%d/f%d", i%25, i, j))
		}
	}
	build(b, dir, ".env", "d1/.env", "perstack.toml")
	for b.Loop() {
		if found, err := Search(b.Context(), dir, Options{}); err != nil || len(found.Hidden) != 2 {
			b.Fatal(found, err)
		}
	}
}

// The longest text that is looked at, with a policy as large as a search makes it.
func BenchmarkExplain(b *testing.B) {
	p := example()
	for i := range maxEnvFiles {
		p.Hidden = append(p.Hidden, fmt.Sprintf("packages/p%d/.env", i))
	}
	text := strings.Repeat("open /home/ann/project/a/b/c/d/e/f.txt: permission denied ", 8<<10)
	for b.Loop() {
		Explain(strings.ReplaceAll(text, "denied ", "denied\n"), p, "x")
		Explain(text, p, "x")
	}
}
