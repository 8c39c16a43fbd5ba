package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/definition"
)

func TestCommit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "registry")
	l := Open(dir).Log("https://registry.example")
	if h, err := l.Head(); err != nil || h.Known() {
		t.Errorf("%v, %v", h, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("reading made the directory")
	}
	text := []byte("{}")
	first := Head{Registry: "https://registry.example", Origin: "o", Key: "k", API: "/a", LogPath: "/l", Checkpoint: "1"}
	record := Record{Digest: definition.Digest(text), Key: "a@1.0.0", Index: 7, Leaf: "leaf", Status: "available"}
	if err := l.Commit(t.Context(), Commit{To: first, Records: []Record{record}, Definitions: [][]byte{text}}); err != nil {
		t.Fatal(err)
	}
	if h, err := l.Head(); err != nil || h != first {
		t.Errorf("%v, %v", h, err)
	}
	if r, ok, err := l.Verified(record.Digest); err != nil || !ok || cmp.Diff(record, r) != "" {
		t.Errorf("%v, %v, %v", r, ok, err)
	}
	other := Open(dir).Log("https://other.example")
	if _, ok, err := other.Verified(record.Digest); ok || err != nil {
		t.Errorf("what one registry proved is believed of another: %v", err)
	}
	if got, ok, err := Open(dir).Definition(record.Digest); err != nil || !ok || string(got) != "{}" {
		t.Errorf("%q, %v, %v", got, ok, err)
	}
	// A process that has verified against an older state has to do so again, and stores nothing.
	late := Commit{From: Head{}, To: Head{Key: "k2", Checkpoint: "2"}, Records: []Record{{Digest: "sha256:" + strings.Repeat("1", 64)}}}
	if err := l.Commit(t.Context(), late); !errors.Is(err, ErrMoved) {
		t.Error(err)
	}
	if _, ok, _ := l.Verified(late.Records[0].Digest); ok {
		t.Error("a late answer was stored")
	}
	for _, path := range []string{filepath.Join(l.dir, "head.json"), Open(dir).definitionPath(record.Digest)} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

// Of many processes at once, one has the state that it verified against, and the others are told.
func TestCommitRace(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	var errs [8]error
	for i := range errs {
		wg.Go(func() {
			errs[i] = Open(dir).Log("https://registry.example").Commit(t.Context(), Commit{To: Head{Key: "k", Checkpoint: fmt.Sprint(i)}})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, ErrMoved):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d commits", won)
	}
}

// What is known of a name only grows.
func TestNames(t *testing.T) {
	l := Open(t.TempDir()).Log("https://registry.example")
	for _, n := range []Name{
		{Name: "a", Tags: map[string]int64{"stable": 7, "old": 1}, Signed: 5, Version: "1.1.0", Digests: map[string]string{"1.0.0": "x"}},
		{Name: "a", Tags: map[string]int64{"stable": 3, "new": 9}, Signed: 2, Version: "1.0.0", Digests: map[string]string{"1.0.0": "y", "2.0.0": "z"}},
	} {
		if err := l.Commit(t.Context(), Commit{Names: []Name{n}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Name("a")
	want := Name{
		Name: "a", Tags: map[string]int64{"stable": 7, "old": 1, "new": 9}, Signed: 2, Version: "1.0.0",
		Digests: map[string]string{"1.0.0": "x", "2.0.0": "z"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// The definitions are bounded; the oldest go first, and those that an answer needs now stay.
func TestDefinitionsAreBounded(t *testing.T) {
	s := Open(t.TempDir())
	s.maxBytes = 100
	text := func(i int) []byte { return []byte(strings.Repeat(string(rune('a'+i)), 30)) }
	for i := range 6 {
		if err := s.addDefinitions([][]byte{text(i)}); err != nil {
			t.Fatal(err)
		}
		path := s.definitionPath(definition.Digest(text(i)))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, info.ModTime(), info.ModTime().AddDate(0, 0, i-10)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		if _, ok, err := s.Definition(definition.Digest(text(i))); err != nil || ok != (i >= 3) {
			t.Errorf("%d: %v, %v", i, ok, err)
		}
	}
	if err := s.addDefinitions([][]byte{text(6), text(7), text(8), text(9)}); err != nil {
		t.Fatal(err)
	}
	for i := 6; i < 10; i++ {
		if _, ok, err := s.Definition(definition.Digest(text(i))); err != nil || !ok {
			t.Errorf("%d: %v, %v", i, ok, err)
		}
	}
	if _, _, err := s.Definition("sha256:../../x"); err == nil {
		t.Error("a path was taken for a digest")
	}
}

// A registry that lies again and again does not fill the disk.
func TestEvidenceIsBounded(t *testing.T) {
	l := Open(t.TempDir()).Log("https://registry.example")
	for i := range maxEvidence + 5 {
		if _, err := l.Keep(t.Context(), Evidence{Shown: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(filepath.Join(l.dir, "evidence"))
	if err != nil || len(files) != maxEvidence {
		t.Errorf("%d, %v", len(files), err)
	}
}
