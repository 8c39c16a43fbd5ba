package file

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/store/storetest"
)

// recordAt records a job that started at a time, and whose journal was last written at another.
func recordAt(t *testing.T, s *Store, id string, started, written time.Time) {
	t.Helper()
	j, err := s.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range storetest.Sample(id) {
		e.Timestamp = started.UnixMilli()
		mustAppend(t, j, e)
	}
	mustClose(t, j)
	if err := os.Chtimes(filepath.Join(s.dir, jobsName, id, journalName), written, written); err != nil {
		t.Fatal(err)
	}
}

func listIDs(t *testing.T, s *Store, most int) (ids []string) {
	t.Helper()
	for info, err := range s.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, info.ID); len(ids) == most {
			break
		}
	}
	return ids
}

// Jobs are listed by when they started, whatever the times of their files are.
func TestJobsAreInOrder(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2020, 1, 2, 3, minute, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		jobs [][2]int // started, written, in minutes
		want string
	}{
		"one after the other":            {[][2]int{{1, 2}, {3, 4}, {5, 6}}, "j2 j1 j0"},
		"an old job was continued":       {[][2]int{{1, 9}, {3, 4}, {5, 6}}, "j2 j1 j0"},
		"at the same time":               {[][2]int{{1, 8}, {2, 9}, {3, 7}}, "j2 j1 j0"},
		"copied later":                   {[][2]int{{5, 20}, {1, 20}, {3, 20}}, "j0 j2 j1"},
		"equal times":                    {[][2]int{{1, 1}, {1, 1}, {1, 1}}, "j0 j1 j2"},
		"written before they started":    {[][2]int{{5, 2}, {9, 1}, {7, 3}}, "j1 j2 j0"},
		"one was written before it was":  {[][2]int{{5, 6}, {9, 10}, {12, 11}, {1, 2}}, "j2 j1 j0 j3"},
		"started when another was ended": {[][2]int{{1, 3}, {3, 5}, {5, 7}}, "j2 j1 j0"},
	} {
		s := New(t.TempDir(), nil)
		for i, j := range c.jobs {
			recordAt(t, s, fmt.Sprintf("j%d", i), at(j[0]), at(j[1]))
		}
		all := listIDs(t, s, 0)
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		for n := 1; n <= len(all); n++ {
			if got := listIDs(t, s, n); !slices.Equal(got, all[:n]) {
				t.Errorf("%s: the first %d are %s", name, n, got)
			}
		}
	}
}

// The newest of many jobs are found without reading the others.
func TestJobsReadsFew(t *testing.T) {
	var log bytes.Buffer
	s := New(t.TempDir(), &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	start := time.Date(2020, 1, 2, 3, 0, 0, 0, time.UTC)
	for i := range 20 {
		at := start.Add(time.Duration(i) * time.Hour)
		recordAt(t, s, fmt.Sprintf("job%02d", i), at, at.Add(time.Minute))
		// A summary that cannot be read is logged, so the log shows which jobs were read.
		if err := os.WriteFile(filepath.Join(s.dir, jobsName, fmt.Sprintf("job%02d", i), summaryName), []byte("?"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(listIDs(t, s, 2), " "); got != "job19 job18" {
		t.Error(got)
	}
	if n := strings.Count(log.String(), "summary of the job is not readable"); n != 2 {
		t.Errorf("%d jobs were read for 2:\n%s", n, log.String())
	}
	if n := len(listIDs(t, s, 0)); n != 20 {
		t.Error(n)
	}
	ids, err := s.JobIDs(t.Context())
	if slices.Sort(ids); err != nil || len(ids) != 20 || ids[7] != "job07" {
		t.Errorf("%v, %v", ids, err)
	}
}

// Whether there are jobs is known without reading one.
func TestHasJobs(t *testing.T) {
	dir := t.TempDir()
	s := New(dir, nil)
	for _, step := range []struct {
		make string
		want bool
	}{{"", false}, {".cache", false}, {"not an id", false}, {"job1", true}} {
		if step.make != "" {
			if err := os.MkdirAll(filepath.Join(dir, "jobs", step.make), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.HasJobs(); err != nil || got != step.want {
			t.Errorf("with %q: %t, %v", step.make, got, err)
		}
	}
}
