package file

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/store/storetest"
)

// The cost of an append does not depend on how much was appended before.
func BenchmarkAppend(b *testing.B) {
	for _, before := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("after %d records", before), func(b *testing.B) {
			s := New(filepath.Join(fastDir(b), "perstack"), nil)
			j := mustOpen(b, s)
			defer j.Close()
			e := storetest.Note("job1", 1, strings.Repeat("x", 1000))
			for range before {
				mustAppend(b, j, e)
			}
			b.ReportAllocs()
			for b.Loop() {
				mustAppend(b, j, e)
			}
		})
	}
}

// A step costs one append and one sync.
func BenchmarkCommit(b *testing.B) {
	s := New(filepath.Join(b.TempDir(), "perstack"), nil)
	j := mustOpen(b, s)
	defer j.Close()
	e := storetest.Note("job1", 1, strings.Repeat("x", 1000))
	for b.Loop() {
		mustAppend(b, j, e)
		if err := j.Commit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// Opening reads the journal once.
func BenchmarkOpen(b *testing.B) {
	s := New(filepath.Join(fastDir(b), "perstack"), nil)
	j := mustOpen(b, s)
	e := storetest.Note("job1", 1, strings.Repeat("x", 1000))
	for range 10_000 {
		mustAppend(b, j, e)
	}
	mustClose(b, j)
	for b.Loop() {
		mustClose(b, mustOpen(b, s))
	}
}
