package scout

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
)

// A scout that sees nothing would find every sandbox in order.
func TestScoutSees(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "place")
	file := filepath.Join(place, "below", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SCOUT_SEES", "this")
	out := filepath.Join(dir, "report.json")
	if err := Command(t.Context(), []string{"look", out, place, filepath.Join(dir, "nowhere")}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Complete || r.UID != os.Getuid() || !slices.Contains(r.Environ, "SCOUT_SEES=this") {
		t.Errorf("the report says %+v", r)
	}
	if p := r.Places[place]; !slices.Contains(p.Files, file) || p.Bytes != 4 || p.Made != "" || p.Renamed != "" {
		t.Errorf("an open place: %+v", p)
	}
	if p := r.Places[filepath.Join(dir, "nowhere")]; len(p.Files) > 0 || p.Made == "" || p.Renamed == "" {
		t.Errorf("a path that does not exist: %+v", p)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("what was looked at has changed: %v", err)
	}
}

func TestMeet(t *testing.T) {
	dir := t.TempDir()
	mine, other := filepath.Join(dir, "mine"), filepath.Join(dir, "other")
	done := make(chan error, 1)
	go func() { done <- Command(t.Context(), []string{"meet", mine, other}) }()
	if err := Command(t.Context(), []string{"meet", other, mine}); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
