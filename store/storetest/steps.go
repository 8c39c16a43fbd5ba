package storetest

import (
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// The steps that most tests are made of. Each ends the test if it fails.

func open(t *testing.T, s store.Store, jobID string) store.Journal {
	t.Helper()
	j, err := s.Open(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func add(t *testing.T, j store.Journal, e event.Event) store.Record {
	t.Helper()
	r, err := j.Append(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// write opens the job, appends the events, commits and closes it.
func write(t *testing.T, s store.Store, jobID string, events ...event.Event) []store.Record {
	t.Helper()
	j := open(t, s, jobID)
	var records []store.Record
	for _, e := range events {
		records = append(records, add(t, j, e))
	}
	if err := j.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return records
}

func read(t *testing.T, s store.Store, jobID string, after int64) []store.Record {
	t.Helper()
	var records []store.Record
	for r, err := range s.Read(t.Context(), jobID, after) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

func list(t *testing.T, s store.Store) []store.JobInfo {
	t.Helper()
	var jobs []store.JobInfo
	for info, err := range s.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, info)
	}
	return jobs
}
